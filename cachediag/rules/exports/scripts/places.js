// Values of a JSON text and where they stand, texts in them, and what a pattern marks there.

/** The tree of a JSON text: each value with its place. The text must be JSON. */
function parsePlaces(text) {
  const at = { position: 0 };
  skipWhite(text, at);
  return readValue(text, at, null, {});
}

function skipWhite(text, at) {
  while (" \t\r\n".includes(text[at.position] ?? "x")) at.position += 1;
}

function readValue(text, at, up, where) {
  const node = { text, up, start: at.position, end: 0, items: [], members: [], ...where };
  const opening = text[at.position];
  if (opening === '"') {
    node.kind = "string";
    at.position = stringEnd(text, at.position);
  } else if (opening === "[" || opening === "{") {
    node.kind = opening === "[" ? "array" : "object";
    at.position += 1;
    readInside(text, at, node);
  } else {
    node.kind = "other";
    while (!" \t\r\n,]}".includes(text[at.position] ?? ",")) at.position += 1;
  }
  node.end = at.position;
  return node;
}

function readInside(text, at, node) {
  for (skipWhite(text, at); text[at.position] !== "]" && text[at.position] !== "}"; ) {
    if (node.kind === "array") {
      node.items.push(readValue(text, at, node, { index: node.items.length }));
    } else {
      const keyStart = at.position;
      at.position = stringEnd(text, keyStart);
      const key = JSON.parse(text.slice(keyStart, at.position));
      skipWhite(text, at);
      at.position += 1; // the colon
      skipWhite(text, at);
      node.members.push(readValue(text, at, node, { key, keyStart }));
    }
    skipWhite(text, at);
    if (text[at.position] === ",") at.position += 1;
    skipWhite(text, at);
  }
  at.position += 1;
}

function stringEnd(text, start) {
  for (let at = start + 1; ; at += 1) {
    at = text.indexOf('"', at);
    if (at < 0) throw new SyntaxError(`a string at ${start} has no end`);
    let back = at;
    while (text[back - 1] === "\\") back -= 1;
    if ((at - back) % 2 === 0) return at + 1;
  }
}

/** A member of an object; of a repeated key the last, as decoders take it. */
function member(node, name) {
  return node.members.findLast((each) => each.key === name);
}

function rawOf(node) {
  return node ? node.text.slice(node.start, node.end) : "";
}

function valueOf(node) {
  return JSON.parse(rawOf(node));
}

function stringOf(node) {
  return node?.kind === "string" ? valueOf(node) : "";
}

function pathOf(node) {
  if (!node.up) return "";
  if (node.up.kind === "array") return `${pathOf(node.up)}[${node.index}]`;
  return `${pathOf(node.up)}.${JSON.stringify(node.key)}`;
}

/** The values that a value stands in, the outermost first, itself last. */
function within(node) {
  return node.up ? [...within(node.up), node] : [node];
}

/** The name of a tool: its own, or that of OpenAI's `function` in it. */
function nameOf(item) {
  return stringOf(member(member(item, "function") ?? item, "name"));
}

/** The values that a rule's path names: steps are a name, an index, `{every}`, `{name}`. */
function places(root, steps) {
  return steps.reduce((found, step) => found.flatMap((node) => children(node, step)), [root]);
}

function children(node, step) {
  if (typeof step === "string") return [member(node, step)].filter(Boolean);
  if (typeof step === "number") return node.items.slice(step, step + 1);
  return step.every ? node.items : node.items.filter((item) => nameOf(item) === step.name);
}

// ---- texts and patterns

/** The text of a string, a text block, or a message of one string; null of anything else. */
function blockText(node) {
  // A tool's result has a content too, and is nobody's text.
  const inside = () => member(node, member(node, "role") ? "content" : "text");
  const text = node.kind === "string" ? node : inside();
  return text?.kind === "string" ? valueOf(text) : null;
}

/** The place in a string's literal at which so many code units of its text are behind. */
function offsetIn(literal, units) {
  if (!literal.includes("\\")) return units;
  let at = 0;
  for (let unit = 0; unit < units; unit += 1) {
    at += escapeAt(literal, at);
  }
  return at;
}

/** How much of a literal one code unit of its text takes. */
function escapeAt(literal, at) {
  if (literal[at] !== "\\") return 1;
  return literal[at + 1] === "u" ? 6 : 2;
}

/** Where pieces of a text stand: for each, in order, the code units before it and its end. */
function* textPieces(node, found) {
  const first = node.start + 1;
  const inside = node.text.slice(first, node.end - 1);
  const isPlain = !inside.includes("\\");
  let [at, unit] = [first, 0];
  const offset = (units) => {
    if (isPlain) return first + units;
    for (; unit < units; unit += 1) at += escapeAt(node.text, at);
    return at;
  };
  for (const [from, to] of found) yield { start: offset(from), end: offset(to) };
}

const expressions = new Map();

function expression(source, flags) {
  const key = `${flags} ${source}`;
  if (!expressions.has(key)) expressions.set(key, new RegExp(source, flags));
  return expressions.get(key);
}

/** Where the pieces that a pattern marks stand in a text, apart from one another. */
function marked(match, text) {
  const { atStart, head, source, tries } = match;
  const pattern = expression(source, "duy");
  const next = (from) => {
    const found = atStart ? -1 : text.indexOf(`\n${head}`, from);
    return found < 0 ? -1 : found + 1;
  };
  const found = [];
  let start = text.startsWith(head) ? 0 : next(0);
  for (let tried = 0, behind = 0; tried < tries && start >= 0; tried += 1) {
    pattern.lastIndex = start;
    const hit = start >= behind ? pattern.exec(text) : null;
    if (hit) {
      // The group may stand in an option that was not taken.
      const piece = hit.length > 1 ? hit.indices[1] : hit.indices[0];
      if (piece) found.push(piece);
      behind = hit.indices[0][1];
    }
    start = next(start);
  }
  return found;
}

function matchesWhole(match, text) {
  if (!match?.atStart) return false;
  const pattern = expression(`(?:${match.source})(?![\\s\\S])`, "uy");
  pattern.lastIndex = 0;
  return pattern.test(text);
}

function* pieces(node, match) {
  if (node.kind !== "string") return;
  const text = valueOf(node);
  if (!match) {
    yield [text, { start: node.start + 1, end: node.end - 1 }];
    return;
  }
  const found = marked(match, text);
  const spans = textPieces(node, found);
  for (const [start, end] of found) yield [text.slice(start, end), spans.next().value];
}
