// The router: Claude Code Router calls it with each request before it chooses a provider.

const PROTOCOLS = [
  ["/messages/count_tokens", "messages"],
  ["/responses/input_tokens", "responses"],
  ["/chat/completions", "chat"],
  ["/messages", "messages"],
  ["/responses", "responses"],
];
const FIELDS = ["system", "instructions", "tools", "functions", "messages", "input"];

// From release 3 on the router loads this file anew for each request: what is remembered must
// not stand in the module. Other rules have a memory of their own.
const MEMORY = Symbol.for(
  `cachediag ${createHash("sha256").update(JSON.stringify(RULES)).digest("hex")}`,
);
const memory = (globalThis[MEMORY] ??= { pins: new Map(), warned: false });

function protocolOf(url) {
  const path = String(url).replace(/[?#].*$/s, "").replace(/\/+$/, "");
  return PROTOCOLS.find(([ending]) => path.endsWith(ending))?.[1];
}

function warn(log, error) {
  if (memory.warned) return;
  memory.warned = true;
  const told = `cachediag rules: a request was passed on unchanged: ${JSON.stringify(String(error))}`;
  for (const each of new Set([console, log ?? console])) each.warn(told);
}

function rewrite(body, protocol) {
  const sent = JSON.stringify(body);
  const text = applyRules(sent, protocol, RULES, memory.pins);
  if (text === sent) return;
  const changed = JSON.parse(text);
  for (const field of FIELDS) {
    // In place: the router keeps the object that it was given.
    if (Object.hasOwn(changed, field)) body[field] = changed[field];
    else delete body[field];
  }
}

module.exports = async function cachediagRules(req) {
  try {
    const protocol = protocolOf(req.url);
    if (protocol && req.body) rewrite(req.body, protocol);
  } catch (error) {
    warn(req.log, error);
  }
  // No choice: the router goes on with its own.
  return null;
};
module.exports.applyRules = applyRules;
