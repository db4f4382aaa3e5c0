// The page of a namespace: goes on to the record of the fragment in the address, which no server sees.
"use strict";
const form = document.getElementById("find");
const label = document.getElementById("label");

function find() {
  const fragment = location.hash.slice(1);
  if (!fragment) return;
  try {
    label.value = decodeURIComponent(fragment);
  } catch {
    label.value = fragment;
  }
  location.replace(form.action + "?" + new URLSearchParams(new FormData(form)));
}

addEventListener("hashchange", find);
find();
