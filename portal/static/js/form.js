// Forms: − and +, the typed name that frees a red button, one submission per click, an upload that says how far it is.

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

function upload(form, submitter) {
  const place = form.querySelector("[data-upload-progress]");
  const request = new XMLHttpRequest();
  const say = (words) => (place.querySelector("output").textContent = words);
  const stop = () => {
    delete form.dataset.sent;
    say(place.dataset.wordsFailed);
  };
  request.upload.addEventListener("progress", (event) => {
    if (!event.lengthComputable) return;
    const part = event.loaded / event.total;
    place.querySelector(".fill").setAttribute("width", (part * 100).toFixed(1));
    const done = part === 1 ? place.dataset.wordsChecking : place.dataset.wordsSending;
    say(done.replace("{percent}", Math.floor(part * 100)));
  });
  request.addEventListener("load", () => {
    if (request.status === 0) return stop();
    // A refused form comes back as the whole page; a taken one as the page it led to.
    if (request.status < 400) return location.assign(request.responseURL);
    const page = new DOMParser().parseFromString(request.responseText, "text/html");
    document.getElementById("content").replaceWith(page.getElementById("content"));
    return document.querySelector("[data-focus-first]")?.focus();
  });
  request.addEventListener("error", stop);
  request.open("POST", form.action);
  place.hidden = false;
  request.send(new FormData(form, submitter));
}
