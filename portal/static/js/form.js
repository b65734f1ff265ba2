// Forms: − and +, the typed name that frees a red button, one submission per click, faults beside their fields.

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-stepper] [data-step]");
  if (!button) return;
  const input = button.closest("[data-stepper]").querySelector("input");
  const low = Number(input.dataset.low ?? 1);
  const high = Number(input.dataset.high ?? Infinity);
  const value = Math.round(Number(input.value) || low) + Number(button.dataset.step);
  input.value = Math.min(high, Math.max(low, value));
  input.dispatchEvent(new Event("input", { bubbles: true }));
  input.dispatchEvent(new Event("change", { bubbles: true }));
});

for (const form of document.querySelectorAll("form[data-typed]")) {
  const input = form.querySelector("[name=typed]");
  const button = form.querySelector("[type=submit]");
  const check = () => (button.disabled = input.value.trim() !== form.dataset.typed);
  input.addEventListener("input", check);
  check();
}

addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post" || "upload" in form.dataset) return;
  if ("sent" in form.dataset) {
    event.preventDefault();
    return;
  }
  if ("sessionOver" in document.body.dataset) {
    event.preventDefault();
    const { submitter } = event;
    document.body.dispatchEvent(new CustomEvent("gc:sign-in", { detail: { then: () => form.requestSubmit(submitter) } }));
    return;
  }
  form.dataset.sent = "";
});

// The server names all faults at once, beside their fields and in the reader's language; a browser stops at the first
// one. It still checks forms whose passwords or files would have to be given again after an answer.
document.addEventListener("click", (event) => {
  const form = event.target.closest("button, input[type=submit]")?.form;
  if (form?.method !== "post") return;
  form.noValidate ||= "upload" in form.dataset || !form.querySelector("[type=password], [type=file]");
}, true);

// Enter in a field of a form with a live estimate would submit it before the estimate has followed.
document.addEventListener("keydown", (event) => {
  const field = event.target;
  const isPlain = event.key === "Enter" && !event.isComposing && field instanceof HTMLInputElement && field.type !== "submit";
  if (!isPlain || field.form?.dataset.enter !== "ignored") return;
  event.preventDefault();
  field.dispatchEvent(new Event("change", { bubbles: true }));
});

// `data-field-errors` is the id of the form that an answer speaks of; each child is the sentence of one field.
// A form that nobody has touched yet opens without red: what is missing in it says the answer itself.
for (const name of ["input", "change"]) {
  document.addEventListener(name, (event) => event.target.form && (event.target.form.dataset.touched = ""), true);
}

function markFields(answer) {
  const form = document.getElementById(answer.dataset.fieldErrors);
  if (!form || !("touched" in form.dataset)) return;
  const sentences = new Map([...answer.children].map((each) => [each.dataset.for, each.firstElementChild]));
  for (const field of form.querySelectorAll("[aria-invalid], [data-invalid]")) {
    if (!sentences.has(field.id)) unmark(field);
  }
  for (const [name, sentence] of sentences) {
    const field = document.getElementById(name);
    if (field && form.contains(field)) mark(field, sentence);
  }
}

function mark(field, sentence) {
  field.closest("details")?.setAttribute("open", "");
  const id = `${field.id}-problem`;
  const shown = document.getElementById(id);
  if (shown?.textContent === sentence.textContent) return;
  const problem = sentence.cloneNode(true);
  problem.id = id;
  if (shown) shown.replaceWith(problem);
  else if (field.localName === "fieldset") field.append(problem);
  else (field.closest(".stepper") || field).after(problem);
  // A group of boxes takes no aria-invalid.
  field.setAttribute(field.matches("input, select, textarea") ? "aria-invalid" : "data-invalid", "true");
  field.setAttribute("aria-describedby", [id, ...descriptions(field, id)].join(" "));
}

function unmark(field) {
  const id = `${field.id}-problem`;
  document.getElementById(id)?.remove();
  field.removeAttribute("aria-invalid");
  field.removeAttribute("data-invalid");
  const rest = descriptions(field, id).join(" ");
  if (rest) field.setAttribute("aria-describedby", rest);
  else field.removeAttribute("aria-describedby");
}

function descriptions(field, besides) {
  return (field.getAttribute("aria-describedby") || "").split(" ").filter((id) => id && id !== besides);
}

for (const name of ["htmx:after:swap", "gc:field-errors"]) {
  document.addEventListener(name, () => document.querySelectorAll("[data-field-errors]").forEach(markFields));
}

// The filter above a list of boxes hides what does not match; what is ticked stays in sight.
document.addEventListener("input", (event) => {
  if (!event.target.matches("[data-pick-filter]")) return;
  const wanted = event.target.value.trim().toLocaleLowerCase();
  for (const option of event.target.closest(".pick-list").querySelectorAll(".pick-options label")) {
    option.hidden = !option.textContent.toLocaleLowerCase().includes(wanted) && !option.querySelector("input").checked;
  }
});

// "Use …" beside a refused value puts it into the field; the form, its file and all else stay.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-suggestion]");
  const field = link && document.getElementById(link.dataset.field);
  if (!field) return;
  event.preventDefault();
  field.value = link.dataset.suggestion;
  unmark(field);
  field.focus();
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.dispatchEvent(new Event("change", { bubbles: true }));
});
