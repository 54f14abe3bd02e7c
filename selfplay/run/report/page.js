// The episode viewer. Texts reach the page as text nodes alone; a group's data is parsed when it is opened.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const index = JSON.parse(byId("index").textContent);
  const groups = index.groups.map((group, place) => ({ ...group, place }));
  const PAGE = 200;
  let found = groups, listed = 0, current = -1, program = 0, suite = 0;

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }
  const number = (value) => (value === null || value === undefined ? "–" : value.toFixed(2));
  const signed = (value) => (value === null || value === undefined ? "–" : (value > 0 ? "+" : "") + value.toFixed(2));

  const trained = (value) => (value === null || value === undefined ? "not trained" : `advantage ${signed(value)}`);

  // ---- the list ----

  function filter() {
    const problem = byId("f-problem").value.trim().toLowerCase(), stage = byId("f-stage").value, role = byId("f-role").value;
    const failed = byId("f-failed").checked, refused = byId("f-refused").checked;
    found = groups.filter((group) =>
      group.problem.toLowerCase().includes(problem) && (!stage || group.stage === Number(stage)) &&
      (!role || group.role === role) && (!failed || group.failed) && (!refused || group.refused));
    listed = 0;
    byId("list").replaceChildren();
    more();
    byId("count").textContent = `${found.length} of ${groups.length} groups`;
  }

  function more() {
    const rows = found.slice(listed, listed + PAGE).map((group) => make("li", {},
      make("a", { href: `#group-${group.n}`, "aria-current": group.place === current ? "true" : null, onclick: (event) => { event.preventDefault(); open(group.place); } },
        group.problem,
        make("span", {}, `step ${group.step + 1}, stage ${group.stage}, ${group.role}: ${group.failed} of ${group.chains} fail, ${group.refused} of ${group.written} tests refused`))));
    byId("list").append(...rows);
    listed += rows.length;
    byId("more").hidden = listed >= found.length;
  }

  function mark() {
    for (const link of byId("list").querySelectorAll("a")) {
      const here = current >= 0 && link.hash === `#group-${groups[current].n}`;
      if (here) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
      if (here) link.scrollIntoView({ block: "nearest" });
    }
  }

  function step(by) {
    const at = found.findIndex((group) => group.place === current);
    const next = found[at < 0 ? 0 : Math.min(Math.max(at + by, 0), found.length - 1)];
    if (!next) return;
    while (listed <= found.indexOf(next)) more();
    open(next.place);
  }

  function fromAddress() {
    const wanted = location.hash.match(/^#group-(\d+)$/);
    const place = wanted ? groups.findIndex((group) => group.n === Number(wanted[1])) : -1;
    if (place >= 0 && place !== current) open(place);
  }

  function open(place) {
    // A notebook's frame has no address of its own to remember the group in.
    if (location.protocol !== "about:") history.replaceState(null, "", `#group-${groups[place].n}`);
    current = place; program = 0;
    const data = JSON.parse(byId(`m${place}`).textContent);
    const reader = data.suites.findIndex((each) => each.reads === 0);
    suite = Math.max(reader, 0);
    draw(data);
    mark();
    byId("group").focus({ preventScroll: window.innerWidth > 760 });
  }

  // ---- one group ----

  function draw(data) {
    byId("group").replaceChildren(
      make("h3", {}, `${data.problem}, step ${data.step + 1}: ${data.phase}`),
      make("p", {}, data.description), data.signature ? make("p", {}, make("code", {}, data.signature)) : "",
      choosers(data), stages(data), make("h3", {}, "Verdicts"), matrix(data), paid(data),
      data.reference ? make("details", {}, make("summary", {}, "Reference, which players never see"), make("pre", {}, data.reference)) : "",
      make("details", {}, make("summary", {}, "Tests by number"), make("ol", {}, ...data.cases.map((source) => make("li", {}, make("code", {}, source))))));
  }

  function choosers(data) {
    const chains = data.chains.map((chain, place) => [place, `${place + 1}: reward ${number(chain.reward)}`]);
    const suites = data.suites.map((each, place) => [place, `${place + 1}, reads program ${each.reads < 0 ? "of another player" : each.reads + 1}`]);
    const choose = (label, options, value, on) => make("label", {}, `${label} `,
      make("select", { onchange: (event) => { on(Number(event.target.value)); draw(data); byId("group").querySelector(`[aria-label="${label}"]`).focus(); }, "aria-label": label },
        ...options.map(([place, text]) => make("option", { value: place, selected: place === value }, text))));
    return make("div", { class: "bars" },
      choose("Program", chains, program, (place) => {
        program = place;
        const reader = data.suites.findIndex((each) => each.reads === place);
        if (reader >= 0) suite = reader;
      }),
      suites.length ? choose("Suite", suites, suite, (place) => { suite = place; }) : "No suite was written.");
  }

  function stages(data) {
    const chain = data.chains[program], tests = data.suites[suite];
    const turns = chain.turns.map((turn) => data.turns[turn]), answers = tests ? tests.turns.map((turn) => data.turns[turn]) : [];
    return make("div", { class: "stages", tabindex: "0", role: "region", "aria-label": "Stages side by side" }, ...turns.map((turn, place) => {
      const at = answers.findIndex((answer) => answer[0] === turn[0]);
      return make("section", {},
        make("h4", {}, `${turn[0]} ${index.stages[turn[0] - 1]}`),
        said("generator", turn, trained(chain.advantages[place])),
        place === turns.length - 1 && chain.code && chain.code !== turn[1].trim() ? make("div", {}, make("p", { class: "says" }, `program (${chain.how})`), make("pre", {}, chain.code)) : "",
        ...(at < 0 ? [] : [
          said("discriminator", answers[at], `reward ${number(tests.rewards[at])}, ${trained(tests.advantages[at])}`),
          make("ul", { class: "tests" }, ...tests.tests[at].map((test) => fate(data, test)))]));
    }));
  }

  function said(role, turn, earned) {
    return make("div", {}, make("p", { class: "says" }, `${role}: ${earned}`, turn[2] ? make("span", { class: "cut" }, " cut off at the token limit") : ""),
      make("pre", {}, turn[1].trim() || "(nothing)"));
  }

  const NAMES = { ".": "passed", F: "failed", E: "error", T: "timeout", "-": "does not load", "?": "infrastructure failed", " ": "not run" };
  const killed = (mark) => "FET".includes(mark);

  function fate(data, [place, source, why]) {
    const mark = place < 0 ? " " : (data.programs[program] || "")[place] || " ";
    const failing = place < 0 ? 0 : [...data.programs, ...data.targets.map((target) => target[1])].filter((row) => killed(row[place] || " ")).length;
    return make("li", {}, make("code", {}, source), " ",
      why ? make("span", { class: "soft" }, `does not count: ${why}`)
        : make("span", { class: killed(mark) ? "no" : "ok" }, `counts; this program: ${NAMES[mark]}; ${failing} of ${data.programs.length + data.targets.length} fail it`));
  }

  function matrix(data) {
    const counts = new Set(data.counting);
    const rows = [...data.programs.map((row, place) => [`program ${place + 1}`, row, place === program]),
      ...data.targets.map(([origin, row], place) => [`mutant ${place + 1} (${origin})`, row, false])];
    const head = make("tr", {}, make("th", { scope: "col" }, "test"),
      ...data.cases.map((source, place) => make("th", { scope: "col", title: source, class: counts.has(place) ? null : "idle" }, String(place + 1))));
    const body = rows.map(([name, row, read]) => make("tr", { class: read ? "read" : null }, make("th", { scope: "row" }, name),
      ...data.cases.map((source, place) => {
        const mark = row[place] || " ";
        const kind = mark === "." ? "passed" : killed(mark) ? "killed" : "";
        return make("td", { class: `${kind} ${counts.has(place) ? "" : "idle"}`, title: `test ${place + 1}: ${NAMES[mark]}` }, mark);
      })));
    return make("div", {}, make("p", { class: "soft" }, `${index.legend.replace(/  +/g, ", ")}. The problem's own ${data.own} tests first; pale ones do not count.`),
      make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Verdicts" }, make("table", { class: "marks" }, make("thead", {}, head), make("tbody", {}, ...body))));
  }

  function paid(data) {
    const row = (values, text) => values.map((value) => text(value).padStart(6)).join("");
    const line = (name, reward, advantages) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, reward), make("td", {}, row(advantages, signed)));
    return make("div", {}, make("h3", {}, "Rewards"), make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Rewards" }, make("table", { class: "paid" },
      make("thead", {}, make("tr", {}, ...["", "reward, a suite's by stage", "advantage by stage (– not trained)"].map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {},
        ...data.chains.map((chain, place) => line(`program ${place + 1}`, row([chain.reward], number), chain.advantages)),
        ...data.suites.map((each, place) => line(`suite ${place + 1}`, row(each.rewards, number), each.advantages))))));
  }

  // ---- start ----

  for (const stage of new Set(groups.map((group) => group.stage).sort())) byId("f-stage").append(make("option", { value: stage }, `${stage}`));
  byId("filters").hidden = false;
  byId("browser").hidden = false;
  byId("filters").addEventListener("input", filter);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("more").addEventListener("click", more);
  window.addEventListener("hashchange", fromAddress);
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "j") step(1);
    if (event.key === "k") step(-1);
  });
  filter();
  fromAddress();
})();
