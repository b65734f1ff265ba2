// Forms: − and +, the typed name that frees a red button, one submission per click, an upload that says how far it is.

const SVG = document.querySelector("svg")?.namespaceURI;

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
  if (event.defaultPrevented || form.method !== "post") return;
  if ("sent" in form.dataset) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "";
  if ("upload" in form.dataset && [...form.querySelectorAll("[type=file]")].some((input) => input.files.length)) {
    event.preventDefault();
    upload(form, event.submitter);
  }
});

// Says how far an upload is, in numbers alone. Without scripts, or where this fails, the browser sends the form itself.
function upload(form, submitter) {
  form.querySelector(".upload-progress")?.remove();
  const { place, fill, words } = progress();
  const request = new XMLHttpRequest();
  (form.querySelector(".form-foot") || form).append(place);
  const files = [...form.querySelectorAll("[type=file]")].flatMap((input) => [...input.files]);
  if (files.reduce((sum, file) => sum + file.size, 0) > Number(form.dataset.limit || Infinity)) {
    delete form.dataset.sent;
    words.value = form.dataset.wordsTooLarge;
    return;
  }
  request.upload.addEventListener("progress", (event) => {
    if (!event.lengthComputable) return;
    const percent = (event.loaded / event.total) * 100;
    const [done, all] = [event.loaded, event.total].map((bytes) => (bytes / 2 ** 20).toFixed(1));
    fill.setAttribute("width", percent.toFixed(1));
    words.value = `${Math.floor(percent)} % · ${done} / ${all} MiB`;
  });
  request.addEventListener("load", () => {
    // A taken form leads to another page; a refused one comes back whole, with its reason.
    if (request.status < 400) return location.assign(request.responseURL);
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    document.getElementById("content").replaceWith(page.getElementById("content"));
    return document.querySelector("[data-focus-first]")?.focus();
  });
  request.addEventListener("error", () => form.submit());
  request.open("POST", form.action);
  request.send(new FormData(form, submitter));
}

function progress() {
  const place = document.createElement("div");
  place.className = "upload-progress";
  place.setAttribute("role", "status");
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("class", "meter");
  drawing.setAttribute("viewBox", "0 0 100 6");
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.setAttribute("aria-hidden", "true");
  const [ground, fill] = ["ground", "fill"].map((name) => {
    const part = document.createElementNS(drawing.namespaceURI, "rect");
    part.setAttribute("class", name);
    part.setAttribute("height", 6);
    drawing.append(part);
    return part;
  });
  ground.setAttribute("width", 100);
  const words = document.createElement("output");
  place.append(drawing, words);
  return { place, fill, words };
}
