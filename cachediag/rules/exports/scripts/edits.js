// Changes to a text, none of which meets another, and the text that they make.

/** Pairs of numbers by their first one. */
class Ordered {
  pairs = [];

  /** Where the first pair stands that is not less. */
  place(number, other = -1) {
    let [low, high] = [0, this.pairs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const [first, second] = this.pairs[middle];
      if (first < number || (first === number && second < other)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  add(number, other) {
    this.pairs.splice(this.place(number, other), 0, [number, other]);
  }

  lastBefore(number) {
    return this.pairs[this.place(number) - 1];
  }

  /** Whether a pair holds whose first number is more than `low` and less than `high`. */
  some(low, high, holds) {
    for (let at = this.place(low + 1); at < this.pairs.length; at += 1) {
      const [number, other] = this.pairs[at];
      if (number >= high) return false;
      if (holds(number, other)) return true;
    }
    return false;
  }
}

class Edits {
  all = [];
  spans = new Set();
  // Told apart so that each question is a search. No two of `fixed` meet one another, and what
  // stands in slots, which may stand in slots again, is wholly within each of them.
  fixed = new Ordered();
  points = new Ordered();
  starts = new Ordered();
  ends = new Ordered();

  /** Add changes that belong together: all of them, or none where one meets an earlier one. */
  add(edits) {
    if (edits.some((edit) => this.meets(edit))) return false;
    for (const edit of edits) this.keep(edit);
    return true;
  }

  keep(edit) {
    const { start, end } = edit;
    this.all.push(edit);
    if (start === end) {
      this.points.add(start, end);
      return;
    }
    this.spans.add(`${start} ${end}`);
    this.starts.add(start, end);
    this.ends.add(end, start);
    if (!edit.isSlot) this.fixed.add(start, end);
  }

  meets({ start, end, isSlot }) {
    if (this.fixed.lastBefore(start)?.[1] > start) return true;
    // What is put in between two values meets nothing; in the middle of one that goes, it does.
    if (start === end) return false;
    if (this.spans.has(`${start} ${end}`)) return true;
    if (this.fixed.some(start - 1, start + 1, (_, behind) => behind > end)) return true;
    if (isSlot) {
      // A value that changes its place may be changed inside.
      return (
        this.starts.some(start, end, (_, behind) => behind > end) ||
        this.ends.some(start, end, (_, before) => before < start)
      );
    }
    return (
      this.starts.some(start - 1, end, (number, behind) => number > start || behind < end) ||
      this.ends.some(start, end, () => true) ||
      this.points.some(start, end, () => true)
    );
  }

  text(whole) {
    this.all.sort((a, b) => a.start - b.start || b.end - a.end);
    return this.all.length ? written(whole, { start: 0, end: whole.length }, this.all) : whole;
  }
}

/** The place of the first edit, from one on, that does not begin before a position. */
function placeOf(edits, position, from) {
  let [low, high] = [from, edits.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edits[middle].start < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

function written(text, span, edits) {
  let position = span.start;
  const made = [];
  for (let at = placeOf(edits, span.start, 0); at < edits.length; ) {
    const edit = edits[at];
    if (edit.start > span.end) break;
    at += 1;
    // What was moved is not moved, or taken away, once more.
    const isItself = edit.start === span.start && edit.end === span.end;
    if (edit.end > span.end || isItself || edit.start < position) continue;
    made.push(text.slice(position, edit.start));
    for (const piece of edit.pieces) {
      made.push(typeof piece === "string" ? piece : written(text, piece, edits));
    }
    position = edit.end;
    // What stands in a slot was written with it.
    at = placeOf(edits, position, at);
  }
  made.push(text.slice(position, span.end));
  return made.join("");
}
