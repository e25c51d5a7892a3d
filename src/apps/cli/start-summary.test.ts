import assert from "node:assert/strict";
import { test } from "node:test";
import { startSummary } from "./start-summary.ts";

test("prints the address, the location of the key, and for each model which formats of answers are parsed", () => {
  const model = (name: string, contextLength: number, format: string, areRead: boolean) => ({
    name,
    contextLength,
    vocabularySize: 1,
    isExact: true,
    replies: { calls: { format, reason: "" }, thoughts: { areRead, reason: "" } },
    presence: { status: "loaded" as const, reason: "" },
    keyValueBytes: 0,
    device: { device: "cpu" as const, reason: "" },
    memoryBytes: 1,
    files: null,
    weightsHash: null,
  });
  const summary = startSummary(
    {
      url: "http://127.0.0.1:8000",
      firstKey: { secret: null, isNew: false, place: "data/admin-key" },
      baseModels: [model("hone-tiny", 2048, "hermes", false), model("a", 131_072, "off", true)],
    },
    { data: "data" },
  );
  assert.deepEqual(summary.split("\n"), [
    "",
    "  address   http://127.0.0.1:8000/v1 for OpenAI clients, http://127.0.0.1:8000/docs for the API reference",
    "  key       data/admin-key",
    "  data      data",
    "",
    "  model       context   tool calls   thoughts",
    "  hone-tiny   2,048     hermes       off",
    "  a           131,072   off          on",
    "",
    "Press Ctrl+C to stop; running answers finish first.",
    "",
    "",
  ]);
});
