// The engine: a splice of JSON text. Everything that no rule touches stays as it was.

const { createHash } = require("node:crypto");

const TALK = ["messages", "input"];
const SYSTEM = ["system", "developer"];
const MOST_LANES = 4096;
// What Python takes for white space and for digits in a text.
const SPACE = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
// Clients put what they add to the user's words between tags, as <system-reminder>.
const TAGGED = new RegExp(`^[${SPACE}]*<[A-Za-z]`);
// What marks an item of a numbered list belongs to its place, not to the item.
const LINE = /(?:[ \t]*\p{Nd}+[.)][ \t]+)?(?<item>[^\n]+)/dgu;
// No white space is tried to begin with: a long run of it would be tried again at each place.
const WORD = `[^,;|${SPACE}]`;
const ITEM = new RegExp(`(?<item>${WORD}(?:[^,;|\\n]*${WORD})?)`, "dgu");

// ---- who wrote what a rule is about to change

function mayTouch(rule, node) {
  const around = within(node);
  if (around.length < 2 || !TALK.includes(around[1].key)) return true;
  const role = roleAt(node);
  if (SYSTEM.includes(role)) return true;
  if (role === "assistant") return rule.action === "sort" && rule.by === "keys" && rule.arguments;
  return role === "user" && rule.messages && isContext(around);
}

function roleAt(node) {
  const message = within(node)[2];
  return message ? (message.role ??= stringOf(member(message, "role"))) : "";
}

/** Whether a text of a user message is what the client wrote around the user's own words. */
function isContext([, , message, content, block]) {
  if (!content) return false;
  const node = block ?? content;
  const text = blockText(node);
  if (text === null) return false;
  if (TAGGED.test(text)) return true;
  if (node.index === undefined) return false;
  const talk = message.up;
  talk.firstOfUser ??= talk.items.find((each) => roleAt(each) === "user").index;
  node.up.lastText ??= node.up.items.findLast((each) => blockText(each) !== null).index;
  return message.index === talk.firstOfUser && node.index < node.up.lastText;
}

// ---- the first values that were seen, by conversation

function firstValue(sent, key, value) {
  const lane = (sent.lane ??= laneOf(sent.root));
  const values = sent.pins.get(lane) ?? new Map();
  sent.pins.delete(lane);
  sent.pins.set(lane, values);
  if (sent.pins.size > MOST_LANES) sent.pins.delete(sent.pins.keys().next().value);
  if (!values.has(key)) values.set(key, value);
  return values.get(key);
}

/** What tells one conversation from another: model, whether there are tools, first user text. */
function laneOf(root) {
  const tools = !["", "[]", "null"].includes(rawOf(member(root, "tools")));
  const talk = member(root, "messages") ?? member(root, "input");
  const parts = [rawOf(member(root, "model")), tools, firstWords(talk)];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64");
}

/** The newest text of the first user message, which a client's context stands before. */
function firstWords(talk) {
  if (talk?.kind !== "array") return rawOf(talk);
  const first = talk.items.find((message) => rawOf(member(message, "role")) === '"user"');
  const content = first && member(first, "content");
  if (content?.kind !== "array") return rawOf(content);
  return rawOf(content.items.map((block) => member(block, "text")).findLast(Boolean));
}

// ---- actions: each yields what is to be changed at a place

function* dropBlock(sent, rule, node) {
  // What has no content is no message.
  if (node.index === undefined && (!node.up || node.up.up)) return;
  const text = blockText(node);
  if (text !== null && matchesWhole(rule.match, text)) {
    yield { edits: [{ start: node.start, end: node.end, pieces: [] }], dropped: true };
  }
}

function* replaceText(sent, rule, node) {
  const value = rule.value ?? "";
  for (const [piece, { start, end }] of pieces(node, rule.match)) {
    if (piece !== value) {
      yield { edits: [{ start, end, pieces: [JSON.stringify(value).slice(1, -1)] }] };
    }
  }
}

function* pinText(sent, rule, node) {
  // A tool that is named keeps its value wherever it stands.
  const where = rule.steps.some((step) => step.every) ? pathOf(node) : JSON.stringify(rule.steps);
  let number = 0;
  for (const [, { start, end }] of pieces(node, rule.match)) {
    const raw = node.text.slice(start, end);
    const first = firstValue(sent, JSON.stringify([rule.id, where, number]), raw);
    if (first !== raw) yield { edits: [{ start, end, pieces: [first] }] };
    number += 1;
  }
}

function* keepInline(sent, rule, node) {
  const role = member(node, "role");
  if (!role || node.up.kind !== "array" || roleAt(node) !== "system") return;
  node.up.firstOther ??= node.up.items.findIndex((each) => roleAt(each) !== "system");
  if (node.up.firstOther >= 0 && node.up.firstOther < node.index) {
    yield { edits: [{ start: role.start, end: role.end, pieces: ['"user"'] }] };
  }
}

function* moveToEnd(sent, rule, node) {
  if (!newest(sent)) return;
  if (!rule.match || node.kind !== "string") {
    const inside = node.kind === "string" ? node : member(node, "text");
    if (inside?.kind !== "string") return;
    if (rule.match && !matchesWhole(rule.match, blockText(node))) return;
    const moved = { start: inside.start + 1, end: inside.end - 1 };
    yield { edits: [{ start: node.start, end: node.end, pieces: [] }], dropped: true, moved };
    return;
  }
  for (const [piece, span] of pieces(node, rule.match)) {
    const words = piece.replace(/^\n+/, "").replace(/\n+$/, "");
    if (!words) continue;
    const before = piece.indexOf(words);
    const inside = node.text.slice(span.start, span.end);
    const [start, end] = [before, before + words.length].map(
      (units) => span.start + offsetIn(inside, units),
    );
    yield { edits: [{ ...span, pieces: [] }], moved: { start, end } };
  }
}

function* sortValues(sent, rule, node) {
  const by = rule.by ?? "name";
  if (by === "keys") yield* sortKeys(node);
  else if (by === "name") yield* sorted(node.items.map((item) => [nameOf(item), item]));
  else yield* sortText(node, rule.match, by === "lines" ? LINE : ITEM);
}

function* sortKeys(node) {
  yield* sorted(node.members.map((each) => [each.key, { start: each.keyStart, end: each.end }]));
  for (const inner of [...node.members, ...node.items]) yield* sortKeys(inner);
}

function* sortText(node, match, item) {
  if (node.kind !== "string") return;
  const text = valueOf(node);
  const places = match ? marked(match, text) : [[0, text.length]];
  const groups = places.map(([start, end]) =>
    Array.from(text.slice(start, end).matchAll(item), (hit) =>
      hit.indices.groups.item.map((unit) => start + unit),
    ),
  );
  const spans = textPieces(node, groups.flat());
  for (const group of groups) {
    yield* sorted(group.map(([from, to]) => [text.slice(from, to), spans.next().value]));
  }
}

/** The change that puts values in the order of their names; equal names keep theirs. */
function* sorted(slots) {
  const order = slots.map((_, number) => number);
  order.sort((a, b) => byCodePoint(slots[a][0], slots[b][0]));
  const edits = order.flatMap((taken, place) => {
    const { start, end } = slots[place][1];
    const from = slots[taken][1];
    const piece = { start: from.start, end: from.end };
    return taken === place ? [] : [{ start, end, pieces: [piece], isSlot: true }];
  });
  if (edits.length) yield { edits };
}

function byCodePoint(a, b) {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  // Within a pair of surrogates the pair's first half is the same, and the second halves decide.
  const [x, y] = [a, b].map((text) => (at < text.length ? text.codePointAt(at) : -1));
  return x - y;
}

const ACTIONS = {
  "drop-block": dropBlock,
  replace: replaceText,
  sort: sortValues,
  "move-to-end": moveToEnd,
  pin: pinText,
  "keep-inline": keepInline,
};

// ---- the end of the newest message, where what was moved out of the prefix is put

function newest(sent) {
  if (!("newest" in sent)) sent.newest = newestOf(sent);
  return sent.newest;
}

function newestOf({ root, protocol }) {
  const talk = member(root, protocol === "responses" ? "input" : "messages");
  if (!talk) return undefined;
  if (talk.kind !== "array") return protocol === "responses" ? talk : undefined;
  const last = talk.items.at(-1);
  if (last && !["user", "assistant"].includes(roleAt(last))) return last;
  return talk.items.findLast((message) => roleAt(message) === "user");
}

function tailEdits(sent, moved) {
  const message = moved.length ? newest(sent) : undefined;
  if (!message) return [];
  if (message.index === undefined) {
    const behind = ["}", ...newMessage(moved), "]"];
    return [put(message.start, '[{"role":"user","content":'), put(message.end, ...behind)];
  }
  const content = member(message, "content");
  if (roleAt(message) !== "user" || !content) return [put(message.end, ...newMessage(moved))];
  const opening = `{"type":"${sent.protocol === "responses" ? "input_text" : "text"}","text":`;
  const blocks = moved.flatMap((at) => [",", opening, '"', at, '"', "}"]);
  if (content.kind !== "array") {
    return [put(content.start, "[", opening), put(content.end, "}", ...blocks, "]")];
  }
  const last = content.items.at(-1);
  return last ? [put(last.end, ...blocks)] : [put(content.start + 1, ...blocks.slice(1))];
}

function newMessage(moved) {
  const texts = moved.flatMap((at, number) => (number ? ["\\n\\n", at] : [at]));
  return [',{"role":"user","content":"', ...texts, '"}'];
}

function put(position, ...added) {
  return { start: position, end: position, pieces: added };
}

// ---- the commas that go with values that were dropped

function gapEdits(text, dropped) {
  const gone = new Set(dropped);
  return [...new Set(dropped.map((node) => node.up))].flatMap((outer) => {
    const values = outer.kind === "array" ? outer.items : outer.members;
    const kept = values.findIndex((value) => !gone.has(value));
    const firstKept = kept < 0 ? values.length : kept;
    return values.flatMap((value, number) =>
      gone.has(value) ? gaps(text, outer, values, number, firstKept) : [],
    );
  });
}

function gaps(text, outer, values, number, firstKept) {
  const isMember = outer.kind === "object";
  const { start, end } = values[number];
  const before = number ? values[number - 1].end : outer.start + 1;
  const next = values[number + 1];
  const edits = [];
  if (number >= firstKept || isMember) edits.push({ start: before, end: start, pieces: [] });
  if (number < firstKept && next) {
    const behind = isMember ? text.indexOf(",", end) + 1 : next.start;
    edits.push({ start: end, end: behind, pieces: [] });
  }
  return edits;
}

/**
 * Apply rules to a request's JSON text.
 *
 * Every rule looks at the text as it was sent, so their order plays no part, but that where two
 * would change the same piece the first one does. `pins` is a Map that remembers what `pin` keeps.
 */
function applyRules(text, protocol, rules, pins) {
  const sent = { root: parsePlaces(text), protocol, pins };
  const edits = new Edits();
  const dropped = [];
  const moved = [];
  for (const rule of rules.filter((each) => each.protocol === protocol)) {
    for (const node of places(sent.root, rule.steps)) {
      if (!mayTouch(rule, node)) continue;
      for (const made of ACTIONS[rule.action](sent, rule, node)) {
        if (!edits.add(made.edits)) continue;
        if (made.dropped) dropped.push(node);
        if (made.moved) moved.push(made.moved);
      }
    }
  }
  edits.add(gapEdits(text, dropped));
  edits.add(tailEdits(sent, moved));
  return edits.text(text);
}
