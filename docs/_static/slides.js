/* Turning pages of slides: keys, clicks at the edges, swipes; the address names the slide. */
"use strict";
(() => {
  const root = document.documentElement;
  const slides = [...document.querySelectorAll(".slide")];
  let now = 0;

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = () => root.setAttribute("data-theme", dark.matches ? "dark" : "light");
  dark.addEventListener("change", paint);
  paint();

  /** Make what a slide holds smaller until it fits; below half its size it scrolls instead. */
  function fit(slide) {
    const body = slide.querySelector(".body");
    const room = 720 - 64;
    if (body.querySelector("figure")) {
      slide.style.setProperty("--room", "100px");
      const left = room - body.offsetTop - body.offsetHeight + 100;
      slide.style.setProperty("--room", `${Math.min(560, Math.max(260, left))}px`);
    }
    for (let scale = 1; scale >= 0.5; scale -= 0.05) {
      slide.style.setProperty("--scale", scale.toFixed(2));
      const bottom = body.offsetTop + body.offsetHeight;
      const wide = [...body.querySelectorAll("pre, table, .formula")].some((each) => each.scrollWidth > body.clientWidth + 1);
      if (bottom <= room && !wide) return;
    }
    slide.classList.add("scrolls");
  }

  /** Turn to a slide; where they follow one another, scroll to it. */
  function show(number, push = true) {
    now = Math.max(0, Math.min(slides.length - 1, number));
    slides.forEach((slide, index) => {
      slide.classList.toggle("now", index === now);
      slide.toggleAttribute("inert", index !== now && innerWidth >= 700);
    });
    if (innerWidth < 700) slides[now].scrollIntoView();
    if (push) history.replaceState(null, "", `#${now + 1}`);
  }

  function resize() {
    root.style.setProperty("--fit", Math.min(innerWidth / 1280, innerHeight / 720));
    slides.forEach((slide, index) => slide.toggleAttribute("inert", index !== now && innerWidth >= 700));
  }

  const keys = {
    ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, Enter: 1, n: 1,
    ArrowLeft: -1, ArrowUp: -1, PageUp: -1, Backspace: -1, p: -1,
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const onSwitch = event.target.closest("summary, a");
    if (onSwitch && (event.key === " " || event.key === "Enter")) return;
    if (event.key in keys) show(now + keys[event.key] * (event.key === " " && event.shiftKey ? -1 : 1));
    else if (event.key === "Home") show(0);
    else if (event.key === "End") show(slides.length - 1);
    else if (event.key === "f") document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen();
    else if (event.key === "d") root.setAttribute("data-theme", root.dataset.theme === "dark" ? "light" : "dark");
    else if (event.key === "h") location.href = "index.html";
    else return;
    event.preventDefault();
  });
  addEventListener("click", (event) => {
    if (innerWidth < 700 || event.target.closest("a, summary, details, pre, table") || getSelection().toString()) return;
    if (event.clientX > innerWidth * 0.85) show(now + 1);
    else if (event.clientX < innerWidth * 0.15) show(now - 1);
  });
  let from = null;
  addEventListener("touchstart", (event) => { from = event.touches[0].clientX; }, { passive: true });
  addEventListener("touchend", (event) => {
    const way = event.changedTouches[0].clientX - from;
    if (innerWidth >= 700 && Math.abs(way) > 60) show(now + (way < 0 ? 1 : -1));
  });
  addEventListener("toggle", (event) => fit(event.target.closest(".slide")), true);
  addEventListener("hashchange", () => show(Number(location.hash.slice(1)) - 1, false));
  addEventListener("resize", resize);

  document.body.classList.add("shown");
  resize();
  document.fonts.ready.then(() => {
    slides.forEach(fit);
    show((Number(location.hash.slice(1)) || 1) - 1, false);
    root.classList.add("ready");
  });
})();
