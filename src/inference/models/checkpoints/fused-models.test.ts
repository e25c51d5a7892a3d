// Tests versions over a base with fused projections (test/fixtures/goldens/models/phi3), with an adapter that PEFT
// made. Covers the export as a merged model, and the import of adapters.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { loraNames } from "../../architectures/parameters.ts";
import { readLoraAdapter, writeLoraAdapter } from "../../architectures/peft-folder.ts";
import { storedProjections } from "../../architectures/stored-projections.ts";
import { ensureGgufFolder } from "../../../lib/model-files/gguf/gguf-model.ts";
import { readSafetensorsFolder, readSafetensorsHeader } from "../../../lib/model-files/safetensors.ts";
import { readFloats } from "../../../lib/model-files/stored-tensor.ts";
import { storedBytes, writeSafetensors } from "../../../lib/model-files/write-safetensors.ts";
import { checkAdapter } from "./check-adapter.ts";
import { planExport } from "./plan-export.ts";
import { fileBytes } from "./testing/planned-bytes.ts";

const base = "test/fixtures/goldens/models/phi3";
const reference = "test/fixtures/goldens/phi3-adapter";
const config = readModelConfig(base);
const scratch = mkdtempSync(join(tmpdir(), "hone-fused-"));
after(() => rmSync(scratch, { recursive: true }));

/** Exports the merged model, and returns its folder. */
async function merged(baseFolder: string, adapterFolder: string): Promise<string> {
  const folder = mkdtempSync(join(scratch, "merged-"));
  const request = { baseFolder, adapterFolder, adapterHash: null, name: "m", chosenType: null };
  const plan = await planExport({ ...request, format: "merged" });
  for (const file of plan) writeFileSync(join(folder, file.name), fileBytes(file));
  return folder;
}

/** Writes the adapter as Hone does, with its projections stacked, and returns its folder. */
function stacked(targets = readLoraAdapter(reference, config).targets): string {
  const folder = mkdtempSync(join(scratch, "stacked-"));
  const adapter = { ...readLoraAdapter(reference, config), targets };
  writeLoraAdapter(folder, adapter, { config, baseModelName: "phi3" });
  return folder;
}

for (const [what, baseFolder] of [
  ["a folder", base],
  ["a GGUF file", ensureGgufFolder("test/fixtures/gguf/phi3.gguf", join(scratch, "gguf"))],
] as const) {
  test(`exports fused weights over ${what} as W + scale · B A for each form of the adapter`, async () => {
    const before = readSafetensorsFolder(base);
    const adapter = readSafetensorsHeader(join(reference, "adapter_model.safetensors")).tensors;
    const matrix = (name: string): Float32Array => readFloats(adapter.get(`base_model.model.${name}`)!);
    const folders = await Promise.all(
      [reference, stacked()].map((adapterFolder) => merged(baseFolder, adapterFolder)),
    );
    for (const folder of folders) {
      const found = readSafetensorsFolder(folder);
      assert.deepEqual([...found.keys()].sort(), [...before.keys()].sort());
      for (const { path, inputSize } of storedProjections(config)) {
        const [a, b] = [matrix(loraNames(path).a), matrix(loraNames(path).b)];
        const expected = readFloats(before.get(`${path}.weight`)!).map((value, at) => {
          const [row, column] = [Math.floor(at / inputSize), at % inputSize];
          let sum = 0;
          for (let rank = 0; rank < 4; rank++) sum += b[row * 4 + rank] * a[rank * inputSize + column];
          return value + 1.5 * sum;
        });
        const bytes = storedBytes(expected, "BF16");
        assert.deepEqual(storedBytes(readFloats(found.get(`${path}.weight`)!), "BF16"), bytes, path);
      }
      assert.deepEqual(
        readFloats(found.get("model.norm.weight")!),
        readFloats(before.get("model.norm.weight")!),
      );
    }
  });

  test(`exports parts without an adapter over ${what} unchanged`, async () => {
    const before = readSafetensorsFolder(base);
    const found = readSafetensorsFolder(await merged(baseFolder, stacked(["k_proj"])));
    const { path, inputSize, parts } = storedProjections(config)[0];
    const [own, theirs] = [found, before].map((tensors) => readFloats(tensors.get(`${path}.weight`)!));
    const changed = new Set<string>();
    for (const { name, from, projection } of parts) {
      const rows = [from * inputSize, (from + projection.outputSize) * inputSize] as const;
      if (own.slice(...rows).join() !== theirs.slice(...rows).join()) changed.add(name);
    }
    assert.deepEqual([...changed], ["k_proj"]);
  });
}

test("accepts an adapter over fused modules from PEFT and from this program, at the rank of its parts", () => {
  const check = (folder: string, rankMax: number) => () =>
    checkAdapter({ folder, baseFolder: base, rankMax });
  check(reference, 4)();
  check(stacked(), 4)();
  assert.throws(check(stacked(), 3), { code: "invalid", message: /rank r is 4; at most 3/ });
});

test("refuses a stacked adapter with values outside the parts that it declares", () => {
  const folder = mkdtempSync(join(scratch, "stray-"));
  cpSync(stacked(), folder, { recursive: true });
  const file = join(folder, "adapter_model.safetensors");
  const tensors = [...readSafetensorsHeader(file).tensors.values()].map((tensor) => ({
    name: tensor.name,
    shape: tensor.shape,
    data: readFloats(tensor),
  }));
  // This value is in a row of the gate projection but in the last column, which only the up projection may use.
  tensors.find(({ name }) => name.includes("gate_up_proj.lora_B"))!.data[11] = 1;
  writeSafetensors(file, tensors, { type: "F32" });
  assert.throws(() => checkAdapter({ folder, baseFolder: base, rankMax: 64 }), {
    code: "invalid",
    message: /gate_up_proj\.lora_B\.weight hold numbers outside their 4 columns from 0 on/,
  });
});
