import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { flag, integer, orNull, setOf, text, texts, time } from "../../../base/domain/resources/fields.ts";
import { columnsOf } from "../../../store/database/columns/resource-columns.ts";
import { readForm } from "../body.ts";
import { alteration, answerOf, creationRows, changeRows, creation, shown } from "./resource.ts";

const fields = {
  name: text({ lengthMax: 9, about: "Its name." }),
  countMax: integer({ minimum: 1, default: 3, about: "Most.", aboutChange: "Most of them." }),
  startsAt: orNull(time({ about: "When." })),
  isOpen: flag({ default: false, about: "Open." }),
  kinds: setOf(["a", "b"], { about: "Kinds.", aboutShown: "Its kinds.", countMax: 3 }),
  tags: texts({ countMax: 2, default: [], about: "Tags." }),
  remark: orNull(text({ about: "Any character.", isStoredAsJson: true })),
};
const full = {
  name: "n",
  countMax: 5,
  startsAt: new Date(1000),
  isOpen: true,
  kinds: ["b", "a"],
  tags: ["x"],
  remark: "a\0b",
} as const;

test("fills in the defaults of a creation request, and returns paths by the domain's names", () => {
  const form = creation("Thing", { ...creationRows(fields), entity: Type.Optional(Type.String()) });
  const { value } = readForm(form, { name: "n", kinds: ["a", "b", "a"].slice(0, 2), count_max: null });
  assert.deepEqual(form.to(value), {
    name: "n",
    countMax: 3,
    startsAt: null,
    isOpen: false,
    kinds: ["a", "b"],
    tags: [],
    remark: null,
    entity: null,
  });
  assert.deepEqual(form.to({ name: "n", kinds: ["a", "a"], starts_at: "1970-01-01T00:00:01Z" }), {
    ...form.to(value),
    kinds: ["a"],
    startsAt: full.startsAt,
  });
  assert.deepEqual(form.fieldPaths["countMax"], ["body", "count_max"]);
  assert.throws(() => readForm(form, { kinds: [] }), /name/);
  readForm(form, { name: "n", kinds: ["a", "b", "a"] });
  assert.throws(() => readForm(form, { name: "n", kinds: ["a", "b", "a", "b"] }), /kinds/);
});

test("reads only the fields that a change request has, and null for nullable fields", () => {
  const values = alteration("Thing", changeRows(fields, "values"), "values");
  assert.deepEqual(values.to({ starts_at: null, count_max: 4 }), { countMax: 4, startsAt: null });
  assert.throws(() => readForm(values, { count_max: null }), /count_max|integer/);
  const kept = alteration("Thing", changeRows(fields, "no change"), "no change");
  assert.deepEqual(kept.to(readForm(kept, { starts_at: null, count_max: null, name: "m" }).value), {
    name: "m",
  });
});

test("writes the field of each row in an answer, under its API name", () => {
  const answer = answerOf<typeof full & { readonly hidden: number }>()("Thing", {
    ...shown(fields),
    twice: [Type.Integer(), ({ countMax }) => 2 * countMax],
  });
  assert.deepEqual(answer.body({ ...full, hidden: 1 }), {
    name: "n",
    count_max: 5,
    starts_at: "1970-01-01T00:00:01.000Z",
    is_open: true,
    kinds: ["b", "a"],
    tags: ["x"],
    remark: "a\0b",
    twice: 10,
  });
  const described = Object.entries(answer.schema.properties).map(([name, schema]) => [
    name,
    "description" in schema ? schema.description : "",
  ]);
  assert.deepEqual(
    described.filter(([, about]) => about !== ""),
    [["kinds", "Its kinds."]],
  );
  assert.deepEqual(Object.keys(answer.schema.properties), Object.keys(answer.body({ ...full, hidden: 1 })));
});

test("returns the same values that were written to columns", () => {
  const columns = columnsOf(fields);
  const row = columns.write(full);
  assert.deepEqual(row, {
    name: "n",
    count_max: 5,
    starts_at: "1970-01-01T00:00:01.000Z",
    is_open: 1,
    kinds: '["b","a"]',
    tags: '["x"]',
    remark: String.raw`"a\u0000b"`,
  });
  assert.deepEqual(columns.read(row), full);
  assert.deepEqual(columns.writeSome({ remark: null, isOpen: false }), { remark: null, is_open: 0 });
  assert.deepEqual(columns.names, Object.keys(row));
  assert.deepEqual(columns.texts, ["name", "kinds", "tags", "remark"]);
});
