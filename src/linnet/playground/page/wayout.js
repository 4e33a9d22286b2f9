// The dialog "Code and model": program, command, files, a link.
import { make, of, toast } from "./dom.js";
import { isEmpty, PAINT_FIRST } from "./store.js";

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} was copied.`);
  } catch {
    toast(`${what} could not be copied: select it and copy it by hand.`);
  }
}

function save(name, bytes) {
  const address = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = make("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export class WayOut {
  /** `noted()` brings the address up to date and says whether it holds the run. */
  constructor(link, store, noted) {
    this.link = link;
    const dialog = of("way-out");
    of("show-way-out").onclick = () => {
      if (isEmpty(store.state)) {
        toast(PAINT_FIRST); // the server still has the previous run
        return;
      }
      link.send("pause");
      link.send("way out");
      dialog.showModal();
    };
    of("copy-program").onclick = () => copy(of("program").textContent, "The program");
    of("copy-command").onclick = () => copy(of("command").textContent, "The command");
    of("copy-link").onclick = () => {
      const what = noted() ? "the settings and the run" : "the settings but not the run, which is too long for a link";
      copy(location.href, `The link, with ${what},`);
    };
    of("download-model").onclick = () => link.send("download", { what: "model" });
    for (const part of ["train", "test"]) of(`download-${part}`).onclick = () => link.send("download", { what: part });
    for (const button of document.querySelectorAll("dialog [data-close]")) button.onclick = () => button.closest("dialog").close();
  }

  show(message) {
    of("program").textContent = message.program;
    of("command").replaceChildren(...message.command.split(/(\s+)/).map((word) => (word.trim() ? make("span", {}, word) : word))); // no line ends within a word
    of("command-note").textContent = message.note;
    const [train, test] = message.losses;
    const { unit } = window.playground.facts;
    of("way-out-says").textContent = `After ${message.epoch} epochs the loss${unit && ` ${unit}`} is ${train.toPrecision(8)} on the training rows and ${test.toPrecision(8)} on the test rows.`;
    of("way-out").dataset.losses = JSON.stringify(message.losses);
  }

  file(message) {
    save(message.name, message.arrays.data);
  }
}
