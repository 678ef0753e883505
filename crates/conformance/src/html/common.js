"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
// Text is set as text, never as markup: it comes from whoever was judged.
function make(name, text, attributes = {}) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
const colour = { "conforms": "good", "conforms in part": "part", "does not conform": "bad" };
// Whether each word of what was typed is in a text, which is in lower case.
const wordsOf = input => input.value.toLowerCase().split(/\s+/).filter(Boolean);
const fits = (words, text) => words.every(word => text.includes(word));
