// Tests how PostgreSQL reads numbers in texts. PostgreSQL's own parser differs from those of JSON and JavaScript, whose
// results the tests expect.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { numberOfText } from "../../../base/domain/feedback-query/values.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { searchCount, searchSeed } from "../../../base/domain/testing/search.ts";
import { createPostgres, withoutPostgres } from "../testing/postgres-databases.ts";
import { openPostgres } from "./postgres-dialect.ts";
import { postgresForm } from "./postgres-form.ts";

/** Texts of numbers, separated by blanks. */
const written = `
  0 -0 -0.0e5 0e99999 0.000e-99999 1e0 1E+5 12.50 1e308 1e309 -1e309
  1.7976931348623157e308 1.7976931348623158e308 1.7976931348623159e308 17976931348623157e292
  5e-324 4.9e-324 2.5e-324 2.4703282292062328e-324 2.4703282292062327e-324 2e-324
  1e-0999 1e-1000 1e0000000308 1e99999999999999999999 1e-9999999999999999999 0.1e-323
  - +1 01 1. .5 1e 0x10 NaN Infinity 1_000 e5 -e5 0.e1 ９ 111111111111111111111111 1111111111111111111111111`;
const edges = [...written.trim().split(/\s+/), "", " 1", "1 ", "1\n"];

test(
  "parses the number of a text as JavaScript does, or finds none",
  { skip: withoutPostgres },
  async (t) => {
    const { url, drop } = await createPostgres();
    t.after(drop);
    const { queries } = openPostgres({ url, connections: 1 });
    t.after(() => queries.destroy());
    const random = seededRandom("numbers of texts", searchSeed);
    const drawn = Array.from({ length: searchCount(2000) }, () => {
      const digits = String(random.index(10 ** (1 + random.index(9))));
      const exponent = [random.index(400), 290 + random.index(40), random.index(5)][random.index(3)];
      const fraction = random.uniform() < 0.5 ? "" : `.${random.index(1_000_000)}`;
      return `${random.uniform() < 0.3 ? "-" : ""}${digits}${fraction}e${random.uniform() < 0.5 ? "-" : ""}${exponent}`;
    });
    const texts = [...edges, ...drawn];
    const { rows } = await sql<{ readonly text: string; readonly number: number | null }>`
    select text, ${postgresForm.numberOfText(sql.ref("text"))} as number
    from json_array_elements_text(cast(${JSON.stringify(texts)} as json)) as text`.execute(queries);
    assert.equal(rows.length, texts.length);
    for (const { text, number } of rows)
      assert.equal(number === null ? null : number + 0, numberOfText(text), JSON.stringify(text));
  },
);
