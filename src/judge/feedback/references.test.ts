// Tests the grammar of references with a table of valid and invalid texts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseReference } from "./references.ts";

const place = { scheme: "hone", entity: "e", project: "p", edges: [] };

const valid: Readonly<Record<string, unknown>> = {
  "hone:///e/p/object/name:digest": { ...place, kind: "object", name: "name", digest: "digest" },
  "<scheme>:///e/p/op/n:v0": { ...place, scheme: "<scheme>", kind: "op", name: "n", digest: "v0" },
  "weave:///e/p/call/0190-uuid": { ...place, scheme: "weave", kind: "call", id: "0190-uuid" },
  "wandb-artifact:///e/p/object/n:*": {
    ...place,
    scheme: "wandb-artifact",
    kind: "object",
    name: "n",
    digest: "*",
  },
  "a+b.c-1:///e/p/call/x": { ...place, scheme: "a+b.c-1", kind: "call", id: "x" },
  "hone:///e/p/object/my%20name%3A%2Fx:a%2Bb": {
    ...place,
    kind: "object",
    name: "my name:/x",
    digest: "a+b",
  },
  "hone:///e/p/object/n:d/": { ...place, kind: "object", name: "n", digest: "d" },
  "hone:///e/p/object/n:d/attr/rows/index/3/key/a%2Fb/id/7": {
    ...place,
    kind: "object",
    name: "n",
    digest: "d",
    edges: [
      { edge: "attr", value: "rows" },
      { edge: "index", value: "3" },
      { edge: "key", value: "a/b" },
      { edge: "id", value: "7" },
    ],
  },
  "hone:///e/p/call/x/attr/output": {
    ...place,
    kind: "call",
    id: "x",
    edges: [{ edge: "attr", value: "output" }],
  },
};

for (const [text, reference] of Object.entries(valid)) {
  test(`reads ${text}`, () => {
    assert.deepEqual(parseReference(text), { isValid: true, reference });
  });
}

const malformed = [
  "",
  "name:digest",
  "hone://e/p/object/n:d",
  "hone:/e/p/object/n:d",
  ":///e/p/object/n:d",
  "1x:///e/p/object/n:d",
  "<other>:///e/p/object/n:d",
  " hone:///e/p/object/n:d",
  "hone:///",
  "hone:///e",
  "hone:///e/p",
  "hone:///e/p/object",
  "hone:///e/p/object/",
  "hone:////p/object/n:d",
  "hone:///e//object/n:d",
  "hone:///e/p/obj/n:d",
  "hone:///e/p/table/d",
  "hone:///e/p/Object/n:d",
  "hone:///e/p/object/n",
  "hone:///e/p/object/n:",
  "hone:///e/p/object/:d",
  "hone:///e/p/object/n:d:e",
  "hone:///e/p/object/n%:d",
  "hone:///e/p/object/n:%E0%A4",
  "hone:///e/p/object/n:d/attr",
  "hone:///e/p/object/n:d/other/x",
  "hone:///e/p/object/n:d/index/one",
  "hone:///e/p/object/n:d/attr/%",
  "hone:///e/p/object/n:d//",
  "hone:///e/p/call/",
  "hone:///e/p/call/x/y",
];

for (const text of malformed) {
  test(`refuses ${JSON.stringify(text)}`, () => {
    assert.equal(parseReference(text).isValid, false);
  });
}
