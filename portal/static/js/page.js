// Small behaviour of every page: what needs scripts appears, focus starts where it should, counts
// stay true, the menu closes, squares point.

function ready(scope) {
  for (const element of scope.querySelectorAll("[data-script-only]")) element.hidden = false;
  for (const element of scope.querySelectorAll("[data-no-script]")) element.hidden = true;
}

ready(document);
document.querySelector("[data-focus-first]")?.focus();
document.addEventListener("htmx:after:swap", (event) => {
  ready(event.target instanceof Element ? event.target : document);
  for (const passing of document.querySelectorAll("[data-passing]")) passing.remove(); // what it announced shows below it
});

// A fragment tells the counts of the rail with it: {"/jobs": "2"}, empty for none.
function showCounts(counts) {
  for (const [path, count] of Object.entries(counts)) {
    const item = document.querySelector(`.rail-item[href="${CSS.escape(path)}"]`);
    if (!item || item.querySelector(".call-count")) continue;
    const shown = item.querySelector(".count");
    if (!count) shown?.remove();
    else if (shown) shown.textContent = count;
    else item.append(Object.assign(document.createElement("span"), { className: "count", textContent: count }));
  }
}
document.addEventListener("htmx:after:request", (event) => {
  const counts = event.detail?.ctx?.response?.headers.get("Groundcrew-Counts");
  if (counts) showCounts(JSON.parse(counts));
});

const menu = document.getElementById("menu");
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && menu?.checked) {
    menu.checked = false;
    menu.focus();
  }
});

function point(event, on) {
  const square = event.target.closest?.(".unit[data-job]");
  if (!square) return;
  const map = square.closest(".node-map") || document;
  for (const other of map.querySelectorAll(`.unit[data-job="${CSS.escape(square.dataset.job)}"]`)) {
    other.classList.toggle("pointed", on);
  }
  for (const units of map.querySelectorAll(".units")) units.classList.toggle("pointing", on);
}
for (const [name, on] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) {
  document.addEventListener(name, (event) => point(event, on));
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent.trim());
  const word = button.textContent;
  button.textContent = button.dataset.copied || word;
  setTimeout(() => (button.textContent = word), 2_000);
});
