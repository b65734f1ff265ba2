// Keys: g then a letter goes somewhere, / finds, ? lists. Off where the person switched them off (WCAG 2.1.4).

const PLACES = { d: "/", j: "/jobs", q: "/queue", n: "/nodes", w: "/workspaces", o: "/operations" };
const OFF = "gc_shortcuts_off";
const list = document.getElementById("shortcuts");
const toggle = list?.querySelector("[data-shortcuts-off]");
let going = 0;

function areOn() {
  return list !== null && localStorage.getItem(OFF) === null;
}

if (toggle) {
  toggle.checked = areOn();
  toggle.addEventListener("change", () => {
    if (toggle.checked) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "1");
  });
}

function isTyping(target) {
  return target.closest("input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select, [contenteditable]");
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !areOn() || isTyping(event.target)) return;
  if (going && event.timeStamp - going < 1_500 && PLACES[event.key]) {
    location.assign(PLACES[event.key]);
  } else if (event.key === "/") {
    const field = document.querySelector("[data-find]") ?? document.querySelector("[data-search]");
    if (field) {
      event.preventDefault();
      field.focus();
    }
  } else if (event.key === "?") {
    list?.showModal();
  } else if (event.key === "f") {
    document.querySelector("[data-follow]")?.click();
  }
  going = event.key === "g" ? event.timeStamp : 0;
});
