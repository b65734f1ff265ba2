// The session may end while a page is open. A dialog signs in again beside what was typed; the page is not loaded again.
// While it has ended, <body> has data-session-over. Others ask by gc:check-session, and by gc:sign-in with detail.then.

const body = document.body;
const AGAIN = body.dataset.signInAgain;
let opened = null; // the promise of the dialog that is open

async function readState(name = "") {
  const answer = await fetch(`${AGAIN}?name=${encodeURIComponent(name)}`, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  return answer.text();
}

function signedIn(html) {
  return new DOMParser().parseFromString(html, "text/html").querySelector("[data-signed-in]")?.dataset;
}

function setOver(over) {
  if (over) body.dataset.sessionOver = "";
  else delete body.dataset.sessionOver;
  body.dispatchEvent(new CustomEvent(over ? "gc:signed-out" : "gc:signed-in", { bubbles: true }));
}

// A stream that closes may mean a restart of the portal; only the portal knows whether the session has ended.
async function checkSession() {
  if (!AGAIN || "sessionOver" in body.dataset) return;
  try {
    if (!signedIn(await readState())) setOver(true);
  } catch {
    // The portal does not answer: nothing is known.
  }
}

// Somebody else's page must not stay open under the new name. False: it is loaded again.
function takeOver(person) {
  if (person.signedIn !== body.dataset.person) {
    location.reload();
    return false;
  }
  for (const field of document.querySelectorAll("input[name=csrf_token]")) field.value = person.token;
  for (const name of body.getAttributeNames().filter((each) => each.startsWith("hx-headers"))) {
    body.setAttribute(name, JSON.stringify({ "X-CSRFToken": person.token }));
  }
  setOver(false);
  return true;
}

// Settles once somebody is signed in (true) or the dialog was closed (false).
function signInAgain() {
  if (!opened) opened = showDialog().catch(() => false).finally(() => (opened = null));
  return opened;
}

async function showDialog() {
  const dialog = document.createElement("dialog");
  dialog.className = "session-over";
  dialog.setAttribute("aria-labelledby", "session-over-title");
  const html = await readState(body.dataset.person);
  if (signedIn(html)) return takeOver(signedIn(html));
  setOver(true);
  document.body.append(dialog);
  return new Promise((settle) => {
    const close = (result) => {
      dialog.remove();
      settle(result);
    };
    const fill = (html) => {
      dialog.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
      dialog.querySelector("[autofocus]")?.focus();
    };
    dialog.addEventListener("close", () => close(false));
    dialog.addEventListener("click", (event) => event.target.closest("[data-close-dialog]") && dialog.close());
    dialog.addEventListener("submit", async (event) => {
      event.preventDefault();
      event.stopPropagation();
      const sent = new URLSearchParams(new FormData(event.target));
      const answer = await fetch(event.target.action, { method: "POST", body: sent });
      if (answer.status === 422) return fill(await answer.text());
      const state = await readState(body.dataset.person);
      return signedIn(state) ? close(takeOver(signedIn(state))) : fill(state);
    });
    fill(html);
    dialog.showModal();
    dialog.querySelector("[autofocus]")?.focus();
  });
}

// A request that changes nothing only shows that the session has ended; one that sends a form asks to sign in.
document.addEventListener("htmx:before:response", (event) => {
  const { ctx } = event.detail;
  const { status, headers } = ctx.response;
  const isTooOld = status === 400 && headers.get("Groundcrew-Form-Too-Old");
  if (status !== 401 && !isTooOld) return;
  event.preventDefault();
  if (ctx.request.method === "GET") return setOver(true);
  const form = document.querySelector(ctx.sourceElement.getAttribute("hx-include") || "main form");
  signInAgain().then((again) => again && form?.dispatchEvent(new Event("change", { bubbles: true })));
});

body.addEventListener("gc:check-session", checkSession);
body.addEventListener("gc:sign-in", (event) => signInAgain().then((again) => again && event.detail.then()));

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-sign-in-here]")) {
    event.preventDefault();
    signInAgain();
  }
});
