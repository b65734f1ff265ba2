// An upload: its name is proposed and checked before a byte is sent, it says how far it is, and it can be cancelled.
// Without scripts, or where this fails, the browser sends the form itself.

const SVG = document.querySelector("svg")?.namespaceURI;
const form = document.querySelector("form[data-upload]");
let request = null; // what is being sent

// The answer of the server: the proposed name, with the faults of the fields for form.js.
async function check() {
  const file = form.elements.archive.files[0];
  const fields = new URLSearchParams({ csrf_token: form.elements.csrf_token.value, name: form.elements.name.value });
  fields.set("archive_name", file?.name || "");
  fields.set("size", file?.size || 0);
  const answer = await fetch(form.dataset.upload, { method: "POST", body: fields, redirect: "manual" });
  if (answer.type === "opaqueredirect" || [400, 401].includes(answer.status)) throw new SessionOver();
  if (!answer.ok) return true;
  form.querySelector("[data-proposed-name]")?.remove();
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const result = page.querySelector("[data-proposed-name]");
  form.append(result);
  if (!form.elements.name.value) form.elements.name.value = result.dataset.proposedName;
  document.dispatchEvent(new Event("gc:field-errors"));
  return !result.querySelector("[data-for]");
}

class SessionOver extends Error {}

function askToSignIn(then) {
  document.body.dispatchEvent(new CustomEvent("gc:sign-in", { detail: { then } }));
}

async function send(submitter) {
  if (request) return;
  try {
    if (await check()) upload(submitter);
    else form.querySelector("[aria-invalid]")?.focus();
  } catch (error) {
    if (error instanceof SessionOver) askToSignIn(() => send(submitter));
    else form.submit();
  }
}

function upload(submitter) {
  form.querySelector(".upload-progress")?.remove();
  const { place, fill, words, cancel } = progress();
  (form.querySelector(".form-foot") || form).append(place);
  const started = Date.now();
  const end = (sentence) => {
    request = null;
    cancel.remove();
    words.value = sentence;
  };
  request = new XMLHttpRequest();
  request.upload.addEventListener("progress", (event) => {
    if (!event.lengthComputable) return;
    const percent = (event.loaded / event.total) * 100;
    const [done, all] = [event.loaded, event.total].map((bytes) => (bytes / 2 ** 20).toFixed(1));
    const left = (((Date.now() - started) / 1000) * (event.total - event.loaded)) / Math.max(1, event.loaded);
    fill.setAttribute("width", percent.toFixed(1));
    words.value = `${Math.floor(percent)} % · ${done} / ${all} MiB · ${timeLeft(left)}`;
  });
  request.addEventListener("load", () => answered(end, submitter));
  request.addEventListener("abort", () => end(form.dataset.wordsCancelled));
  request.addEventListener("error", () => end(form.dataset.wordsFailed));
  cancel.addEventListener("click", () => request?.abort());
  request.open("POST", form.action);
  request.send(new FormData(form, submitter));
}

// A taken form leads to another page; a refused one comes back whole, with its reason, and keeps the chosen file.
function answered(end, submitter) {
  const { status, responseURL, responseText } = request;
  const address = new URL(responseURL || location.href);
  end("");
  if (address.pathname === new URL(document.body.dataset.signIn, location.href).pathname) {
    return askToSignIn(() => send(submitter));
  }
  if (status < 400) return location.assign(address);
  const page = new DOMParser().parseFromString(responseText, "text/html");
  const summary = page.querySelector(".problems, main .notice");
  document.querySelector("main .problems")?.remove();
  if (!summary) return end(page.querySelector("main p + p, section p")?.textContent || form.dataset.wordsFailed);
  form.closest(".panel").before(summary);
  return summary.focus();
}

function timeLeft(seconds) {
  const { wordsLeft, wordsMin, wordsS } = form.dataset;
  const time = seconds < 60 ? wordsS.replace("{n}", Math.ceil(seconds)) : wordsMin.replace("{n}", Math.ceil(seconds / 60));
  return wordsLeft.replace("{time}", time);
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
  const cancel = document.createElement("button");
  cancel.type = "button";
  cancel.className = "btn btn-small";
  cancel.textContent = form.dataset.wordsCancel;
  place.append(drawing, words, cancel);
  return { place, fill, words, cancel };
}

if (form) {
  const { archive, name } = form.elements;
  const checkQuietly = () => (archive.files.length || name.value) && check().catch(() => {});
  archive.addEventListener("change", checkQuietly);
  name.addEventListener("change", checkQuietly);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(event.submitter);
  });
}
