import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApiDocument, type ApiSetting, apiSettings } from "./api-settings.ts";
import { morePrefix, settingsIn } from "./settings.ts";

const document = (config: object): ApiDocument => ({
  paths: {
    "/v1/preview/sft-training-jobs": {
      post: {
        requestBody: { content: { "application/json": { schema: { properties: { config } } } } },
      },
    },
  },
});

test("reads the settings that a form can offer from the API document", () => {
  const either = (schema: object, more: object) => ({ anyOf: [schema, { type: "null" }], ...more });
  const properties = {
    learning_rate: either({ type: "number" }, {}),
    weight_decay: either({ type: "number", minimum: 0, maximum: 10 }, { description: "Decay.", default: 0 }),
    packed: either(
      { anyOf: [{ type: "integer", minimum: 2 }, { enum: ["auto"] }] },
      { "x-default": "as set" },
    ),
    shuffle: either({ type: "boolean" }, { default: true }),
    turns: either({ enum: ["all", "last"] }, {}),
    num_epochs: either({ type: "integer" }, { description: "Alias of epochs." }),
    seed: either({}, { description: "Refused." }),
  };
  const config = { anyOf: [{ type: "object", properties }, { type: "null" }] };
  const found = apiSettings(document(config), "sft", new Set(["learning_rate"]));
  const number = (isWhole: boolean, min: number, max?: number) => ({ kind: "number", min, max, isWhole });
  const expected: readonly ApiSetting[] = [
    { name: "weight_decay", description: "Decay.", input: number(false, 0, 10) as never, usual: "0" },
    { name: "packed", description: "", input: number(true, 2) as never, usual: "as set" },
    { name: "shuffle", description: "", input: { kind: "choice", choices: [true, false] }, usual: "true" },
    { name: "turns", description: "", input: { kind: "choice", choices: ["all", "last"] }, usual: "" },
  ];
  assert.deepEqual(found, expected);
  assert.deepEqual(apiSettings(document(config), "rl", new Set()), []);
});

test("reads the values of all fields of a form", () => {
  const data = new FormData();
  for (const [name, text] of [
    ["learning_rate", "1e-3"],
    ["epochs", " "],
    ["other", "3"],
    [`${morePrefix}weight_decay`, ".5"],
    [`${morePrefix}shuffle`, "false"],
    [`${morePrefix}turns`, '"last"'],
    [`${morePrefix}packed`, ""],
  ] as const)
    data.set(name, text);
  assert.deepEqual(settingsIn(data), {
    learning_rate: 1e-3,
    epochs: null,
    weight_decay: 0.5,
    shuffle: false,
    turns: "last",
    packed: null,
  });
});
