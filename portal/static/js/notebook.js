// A notebook's page opens it by itself once it is ready, once: who comes back by the browser's button stays on the page.

let opened = false;

function openWhenReady() {
  const form = document.querySelector("form[data-opens-itself]");
  if (!form || opened || document.hidden) return;
  opened = true;
  const address = new URL(location.href);
  address.searchParams.delete("open");
  history.replaceState(history.state, "", address);
  form.requestSubmit();
}

openWhenReady();
document.addEventListener("htmx:after:swap", openWhenReady);
document.addEventListener("visibilitychange", openWhenReady);
