import assert from "node:assert/strict";
import { test } from "node:test";
import { codeOf } from "./code-of.ts";
import { mutationsOf } from "./places.ts";

/** Checks that a source has exactly these mutations, each written as `line: from -> to`. */
function check(source: string, expected: readonly string[]): void {
  assert.deepEqual(
    mutationsOf(source).map(({ line, from, to }) => `${line}: ${from} -> ${to}`),
    expected,
  );
}

test("inverts comparisons and logical operators, and moves adjacent bounds", () => {
  check("const isFit = count <= limit && !isOver;", ["1: <= -> <", "1: <= -> >", "1: && -> ||", "1: ! -> "]);
  check("f(0, 2048);", ["1: 0 -> 1", "1: 2048 -> 4096", "1: 2048 -> 1024"]);
  check("f(count - 10);", ["1: - -> +", "1: 10 -> 11", "1: 10 -> 9"]);
});

test("removes branches in both ways, for any condition", () => {
  check("if (f(a, (b))) return;", ["1: (f(a, (b))) -> (false)", "1: (f(a, (b))) -> (true)"]);
});

test("removes calls that are statements, with their await, but no assertions and no parts of expressions", () => {
  check("{\n  await this.#jobs.end(id);\n  const a =\n    f(b);\n  assert(a);\n}", [
    "2: await this.#jobs.end(id); -> ;",
  ]);
  check("{\n  const a = b(\n  )\n    .c();\n}", []);
  check("if (a)\n  f(\n    b,\n  );", ["1: (a) -> (false)", "1: (a) -> (true)", "2: f(\n    b,\n  ); -> ;"]);
});

test("leaves strings, comments, regular expressions and types unchanged", () => {
  check("const a: Map<string, 'x < 1'> = b; // 1 < 2\n/* 3 */", []);
  check("const a = text.replace(/[/] + 1/g, `2 < 3`);", []);
});

test("reads the code inside templates, and continues after them", () => {
  check("const a = `1 ${b < `2 ${c}`} 3`;", ["1: < -> <=", "1: < -> >="]);
  assert.equal(codeOf("`a${{ b }}c` + 'd'"), "`_${{ b }}_` + '_'");
});
