// Random grammars with a few rules, and a naive reference for their languages. The reference tries each rule at each
// position until it finds no more matching spans. It shares no code with the compiler and the parser.
import * as fc from "fast-check";

/** A character, or the 0-based number of a rule. */
type Part = string | number;
type Rule = readonly (readonly Part[])[];
/** Rules by number; rule 0 matches the whole text. */
export type PlainGrammar = readonly Rule[];

const ruleCount = 3;
const parts = fc.oneof(fc.constantFrom("a", "b"), fc.nat(ruleCount - 1));
const rules = fc.array(fc.array(parts, { maxLength: 3 }), { minLength: 1, maxLength: 3 });

/** Most of these grammars are ambiguous. Many are left-recursive, directly or through nullable symbols. */
export const plainGrammars: fc.Arbitrary<PlainGrammar> = fc.array(rules, {
  minLength: ruleCount,
  maxLength: ruleCount,
});

/** Writes the grammar in llama.cpp's notation. */
export function gbnfOf(grammar: PlainGrammar): string {
  const spelled = (part: Part): string => (typeof part === "string" ? `"${part}"` : `r${part}`);
  const lines = grammar.map((alternatives, index) => {
    const texts = alternatives.map((one) => (one.length === 0 ? '""' : one.map(spelled).join(" ")));
    return `r${index} ::= ${texts.join(" | ")}`;
  });
  return ["root ::= r0", ...lines].join("\n");
}

/** Returns the grammar without alternatives that match no text. */
export function matchable(grammar: PlainGrammar): PlainGrammar {
  let found = grammar.map((): Rule => []);
  for (let before = -1; before < countOf(found);) {
    before = countOf(found);
    const known = found;
    found = grammar.map((rule) =>
      rule.filter((one) => one.every((part) => typeof part === "string" || known[part].length > 0)),
    );
  }
  return found;
}

const countOf = (grammar: PlainGrammar): number => grammar.reduce((sum, rule) => sum + rule.length, 0);

/**
 * Returns a grammar that matches all prefixes of the given grammar's texts. Each alternative of the given grammar must
 * match some text.
 */
export function prefixGrammar(grammar: PlainGrammar): PlainGrammar {
  // The rule for the prefixes of rule n has number n plus the number of rules.
  const begun = (part: Part): readonly Part[] => [typeof part === "string" ? part : part + grammar.length];
  const beginnings = grammar.map((rule): Rule =>
    rule.length === 0
      ? []
      : [[], ...rule.flatMap((one) => one.map((part, index) => [...one.slice(0, index), ...begun(part)]))],
  );
  return [...grammar, ...beginnings];
}

/** Returns for each length whether the rule matches the text's prefix of that length. */
export function matchesOf(grammar: PlainGrammar, rule: number, text: string): readonly boolean[] {
  const places = Array.from({ length: text.length + 1 }, (_, place) => place);
  /** For each rule and start position, a bit set of the positions where the rule's matches end. */
  const ends = grammar.map(() => places.map(() => 0));
  const endsOf = (one: readonly Part[], start: number): number => {
    let from = 1 << start;
    for (const part of one) {
      let to = 0;
      for (const place of places.filter((at) => ((from >>> at) & 1) === 1)) {
        if (typeof part === "number") to |= ends[part][place];
        else if (text[place] === part) to |= 1 << (place + 1);
      }
      from = to;
    }
    return from;
  };
  for (let isNew = true; isNew;) {
    isNew = false;
    for (const [number, alternatives] of grammar.entries()) {
      for (const start of places) {
        const found = alternatives.reduce((all, one) => all | endsOf(one, start), ends[number][start]);
        isNew ||= found !== ends[number][start];
        ends[number][start] = found;
      }
    }
  }
  return places.map((place) => ((ends[rule][0] >>> place) & 1) === 1);
}
