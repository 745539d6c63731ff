"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const hidden = new Set(); // keys of the series that are switched off
  let specs = {};
  let focus = null; // key of the series under the pointer

  // ---- theme: kept for the next visit where the browser lets a file keep anything

  const setTheme = (name) => {
    if (name === "auto") delete root.dataset.theme;
    else root.dataset.theme = name;
  };
  const remembered = () => {
    try {
      const name = localStorage.getItem("bochner-theme");
      return ["light", "dark"].includes(name) ? name : "auto";
    } catch {
      return "auto";
    }
  };
  const remember = (name) => {
    try {
      localStorage.setItem("bochner-theme", name);
    } catch {
      // not kept, then
    }
  };
  setTheme(remembered()); // before anything is shown

  // ---- charts

  const DATA = new Set(["x", "y", "z", "text", "array"]); // long, and never a colour

  // "@name" becomes the custom property of that name, where a colour is expected.
  const coloured = (value, styles, isColour = false) => {
    if (typeof value === "string") {
      return isColour && value[0] === "@" ? styles.getPropertyValue("--" + value.slice(1)).trim() : value;
    }
    if (Array.isArray(value)) return isColour ? value.map((v) => coloured(v, styles, true)) : value;
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, v]) =>
        [key, DATA.has(key) ? v : coloured(v, styles, Array.isArray(v) || key.endsWith("color"))]),
    );
  };

  const copyOf = (value) => JSON.parse(JSON.stringify(value));

  const keyOf = (trace) => (trace.meta ? trace.meta.key : "");

  const draw = (name, width = null) => {
    const place = document.getElementById(name);
    if (place.closest("[hidden]")) return;
    const styles = getComputedStyle(root);
    const data = copyOf(specs[name].data).map((trace) => coloured(trace, styles));
    const layout = coloured(copyOf(specs[name].layout), styles);
    for (const trace of data) {
      trace.visible = !hidden.has(keyOf(trace));
      if (focus && keyOf(trace)) trace.opacity = keyOf(trace) === focus ? 1 : 0.15;
    }
    layout.font.family = getComputedStyle(document.body).fontFamily;
    const axis = layout.xaxis;
    const room = width ?? place.clientWidth;
    const longest = Math.max(...(axis.ticktext ?? [""]).map((text) => text.length));
    const most = Math.max(2, Math.floor((room - 60) / (7.5 * longest + 10)));
    if (axis.tickvals && axis.tickvals.length > most) {
      const step = Math.ceil(axis.tickvals.length / most);
      axis.tickvals = axis.tickvals.filter((_, i) => i % step === 0);
      axis.ticktext = axis.ticktext.filter((_, i) => i % step === 0);
    }
    // A finger on a chart scrolls the page; a mouse draws the frame to look at more closely.
    layout.dragmode = matchMedia("(pointer: coarse)").matches ? false : "zoom";
    if (width) {
      layout.width = width;
      if (place.closest(".square")) layout.height = width;
    }
    Charts.draw(place, data, layout);
  };
  const drawAll = (width = null) => Object.keys(specs).forEach((name) => draw(name, width));

  // ---- switching series on and off, everywhere at once

  const applyHidden = () => {
    for (const chip of all(".chip")) chip.setAttribute("aria-pressed", String(!hidden.has(chip.dataset.key)));
    for (const part of all("tr[data-key], figure[data-key]")) part.hidden = hidden.has(part.dataset.key);
    drawAll();
  };
  const flip = (key) => {
    if (!hidden.delete(key)) hidden.add(key);
    focus = null;
    applyHidden();
  };
  const point = (key) => {
    if (focus === key) return;
    focus = key;
    for (const [name, spec] of Object.entries(specs)) {
      if (spec.data.some(keyOf)) draw(name);
    }
  };

  // ---- sorting: what is missing stays at the end

  const sort = (heading) => {
    const row = heading.parentElement;
    const column = [...row.children].indexOf(heading);
    const isNumber = heading.classList.contains("number");
    const now = heading.getAttribute("aria-sort");
    const up = now ? now !== "ascending" : true;
    for (const other of row.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = heading.closest("table").tBodies[0];
    const read = (line) => {
      const cell = line.children[column];
      if (!cell) return null;
      const text = cell.dataset.value ?? cell.textContent.trim();
      if (!isNumber) return text;
      return text === "" ? null : Number(text);
    };
    const compare = (a, b) => {
      if (a === null || b === null) return (a === null) - (b === null);
      const order = isNumber ? a - b : a.localeCompare(b, undefined, { numeric: true });
      return up ? order : -order;
    };
    const lines = [...body.rows].map((line) => [read(line), line]);
    lines.sort(([a], [b]) => compare(a, b));
    body.append(...lines.map(([, line]) => line));
    say(`Sorted by ${heading.textContent.trim()}, ${up ? "ascending" : "descending"}.`);
  };

  const say = (words) => {
    document.getElementById("status").textContent = words;
  };

  // ---- everything once the page is read

  document.addEventListener("DOMContentLoaded", () => {
    specs = JSON.parse(document.getElementById("figures").textContent);
    drawAll();

    const theme = remembered();
    for (const input of all(".theme input")) {
      input.checked = input.value === theme;
      input.addEventListener("change", () => {
        setTheme(input.value);
        remember(input.value);
        drawAll();
      });
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());

    for (const chip of all(".chip")) {
      chip.addEventListener("click", () => flip(chip.dataset.key));
      if (matchMedia("(hover: hover)").matches) {
        chip.addEventListener("pointerenter", () => hidden.has(chip.dataset.key) || point(chip.dataset.key));
        chip.addEventListener("pointerleave", () => point(null));
      }
    }
    for (const button of all("[data-all]")) {
      button.addEventListener("click", () => {
        hidden.clear();
        if (button.dataset.all === "off") all(".chip").forEach((chip) => hidden.add(chip.dataset.key));
        applyHidden();
      });
    }
    for (const button of all("thead button")) button.addEventListener("click", () => sort(button.parentElement));
    for (const button of all("[data-save]")) {
      button.addEventListener("click", () => {
        const name = button.dataset.save;
        Charts.save(document.getElementById(name), name);
      });
    }
    for (const button of all("[data-copy]")) {
      button.addEventListener("click", async () => {
        const code = button.parentElement.querySelector("code");
        try {
          await navigator.clipboard.writeText(code.textContent);
          button.textContent = "Copied";
          say("The command was copied.");
        } catch {
          getSelection().selectAllChildren(code); // ready to be copied by hand
        }
      });
    }

    let waiting = 0;
    let seen = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth === seen) return; // a phone's address bar coming and going
      seen = innerWidth;
      clearTimeout(waiting);
      waiting = setTimeout(() => drawAll(), 120);
    });

    // Paper is light, and narrower than most windows.
    let before;
    addEventListener("beforeprint", () => {
      before = root.dataset.theme ?? "auto";
      setTheme("light");
      for (const name of Object.keys(specs)) {
        draw(name, document.getElementById(name).closest(".square") ? 300 : 640);
      }
    });
    addEventListener("afterprint", () => {
      setTheme(before);
      drawAll();
    });
    root.dataset.ready = "";
  });
})();
