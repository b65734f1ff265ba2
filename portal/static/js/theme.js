// The theme button without a reload, and following the system where nobody chose.

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

function show(theme) {
  root.dataset.bsTheme = theme;
  for (const input of document.querySelectorAll("[data-theme-form] input[name=theme]")) {
    input.value = theme === "dark" ? "light" : "dark";
  }
  document.dispatchEvent(new CustomEvent("gc:theme", { detail: { theme } }));
}

show(root.dataset.bsTheme);
system.addEventListener("change", (event) => {
  if (root.hasAttribute("data-theme-follows")) show(event.matches ? "dark" : "light");
});

document.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-theme-form]");
  if (!form) return;
  event.preventDefault();
  const data = new FormData(form);
  fetch(form.action, { method: "POST", body: data, redirect: "manual" }).catch(() => {});
  root.removeAttribute("data-theme-follows");
  show(data.get("theme"));
});
