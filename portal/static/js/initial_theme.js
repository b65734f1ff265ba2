// Before the first paint: where nobody chose a theme, the system's wish counts. Classic script, so that it blocks.
(() => {
  const root = document.documentElement;
  root.classList.add("script");
  if (root.hasAttribute("data-theme-follows") && matchMedia("(prefers-color-scheme: dark)").matches) root.dataset.bsTheme = "dark";
})();
