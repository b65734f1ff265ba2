// What was typed stays when the page is loaded again: in another language, or after the session had ended.

const KEY = "gc_kept_form";
const SECRET = new Set(["password", "file", "hidden", "submit"]);

function fieldsOf(form) {
  return [...form.elements].filter((field) => field.name && !SECRET.has(field.type));
}

function isChanged(field) {
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  if (field.localName === "select") return [...field.options].some((option) => option.selected !== option.defaultSelected);
  return field.value !== field.defaultValue;
}

function keep(path, action, values) {
  sessionStorage.setItem(KEY, JSON.stringify({ path, action, values }));
}

// The form on this page in which something was typed; kept for the page to which `path` leads.
function keepChangedForm(path) {
  const forms = [...document.querySelectorAll("#content form[method=post], main form[method=post]")];
  const form = forms.find((each) => fieldsOf(each).some(isChanged) || each.querySelector(".problem"));
  if (!form) return;
  const values = fieldsOf(form)
    .filter((field) => !["checkbox", "radio"].includes(field.type) || field.checked)
    .map((field) => [field.name, field.value]);
  keep(path, new URL(form.action).pathname, values);
}

function refill(form, values) {
  for (const field of fieldsOf(form)) {
    const own = values.filter(([name]) => name === field.name).map(([, value]) => value);
    if (field.type === "checkbox" || field.type === "radio") field.checked = own.includes(field.value);
    else if (own.length) field.value = own[0];
  }
  form.dispatchEvent(new Event("input", { bubbles: true }));
  form.dispatchEvent(new Event("change", { bubbles: true }));
}

function restore() {
  const kept = JSON.parse(sessionStorage.getItem(KEY) || "null");
  if (!kept) return;
  sessionStorage.removeItem(KEY);
  if (new URL(kept.path, location.href).pathname !== location.pathname) return;
  const form = [...document.querySelectorAll("form[method=post]")].find((each) => new URL(each.action).pathname === kept.action);
  if (form) refill(form, kept.values);
}

const sent = document.querySelector("form[data-kept-form]");
if (sent) {
  const values = [...new FormData(sent)].filter(([name]) => name !== "csrf_token");
  keep(sent.dataset.back, new URL(sent.action).pathname, values);
  location.replace(sent.dataset.back);
} else {
  restore();
}

document.addEventListener("submit", (event) => {
  const next = event.target.closest("[data-keep-forms]")?.elements.namedItem("next");
  if (next) keepChangedForm(next.value);
});
