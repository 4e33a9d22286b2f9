// Ranks the pages for what was asked: no page needs to have all words, and a rare word counts more than a common one.
// Sphinx's search calls this with the stems of the words; its index says which pages and which headings have them.
const asList = (pages) => (pages === undefined ? [] : Array.isArray(pages) ? pages : [pages]);
const having = (index, word) => asList(Object.hasOwn(index, word) ? index[word] : undefined);

Search.performTermsSearch = (words, excluded) => {
  const { terms, titleterms, titles, docnames, filenames } = Search._index;
  const points = new Map();
  const titleWords = (page) => splitQuery(titles[page].toLowerCase()).length;
  for (const word of words) {
    let [inText, inTitle] = [having(terms, word), having(titleterms, word)];
    if (!inText.length && !inTitle.length && word.length > 2) { // part of a longer word
      [inText, inTitle] = [terms, titleterms].map((index) =>
        Object.keys(index).filter((term) => term.includes(word)).flatMap((term) => asList(index[term])));
    }
    const pages = new Set([...inText, ...inTitle]);
    const rarity = Math.log(1 + docnames.length / pages.size);
    for (const page of pages) {
      const stems = new Set(splitQuery(titles[page].toLowerCase()).map((part) => new Stemmer().stemWord(part)));
      const weight = stems.has(word) ? 2.5 + 1 / titleWords(page) : inTitle.includes(page) ? 2 : 1;
      points.set(page, (points.get(page) ?? 0) + rarity * weight);
    }
  }
  for (const word of excluded) {
    for (const page of [...having(terms, word), ...having(titleterms, word)]) points.delete(page);
  }
  return [...points].map(([page, score]) => [
    docnames[page], titles[page], "", linnetFirstWords[docnames[page]] ?? null,
    score * (docnames[page].startsWith("reference/") ? 1 : ["benchmarks", "guide/teaching"].includes(docnames[page]) ? 0.7 : 1.5), filenames[page], "text",
  ]);
};

const perform = Search._performSearch;
Search._performSearch = (...asked) => { // a page once, where it is found best; the best is last
  const seen = new Set();
  return perform(...asked).reverse().filter(([page]) => !seen.has(page) && seen.add(page)).reverse();
};
