// Tests that weights of each stored type get the codes of plain loops over their float32 values.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { byteLengthOf, readFloats, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";
import { roundRotated, writeColumns } from "./quantize.ts";
import { roundedCodes, withRowsOf } from "./rounded-codes.ts";

const scratch = mkdtempSync(join(tmpdir(), "hone-codes-"));
after(() => rmSync(scratch, { recursive: true }));

// Rows of this length are rounded 16 at a time.
const [N, K] = [48, 4096];

for (const type of ["F32", "F16", "BF16", "Q4_0", "Q8_0", "Q4_K", "Q6_K"] as const) {
  for (const isPaired of [false, true]) {
    test(`rounds ${type} as its float32 values${isPaired ? ", with rows of pairs" : ""}`, () => {
      const random = seededRandom(type);
      const byteLength = byteLengthOf(type, [N, K]) ?? 0;
      const file = join(scratch, type);
      // As the upper byte of a 16-bit number, such bytes give numbers below 1. The first 10 bytes are not the tensor's.
      const bytes = Uint8Array.from({ length: 10 + byteLength }, () => random.index(0x3c));
      writeFileSync(file, bytes);
      const plainTensor: StoredTensor = { name: "weight", type, shape: [N, K], file, offset: 10, byteLength };
      const tensor: StoredTensor = isPaired
        ? { ...plainTensor, rearranged: { kind: "paired-rows", headCount: 3 } }
        : plainTensor;
      const plain = roundRotated(readFloats(tensor), K);
      const columns = new Int8Array(N * K);
      writeColumns(plain.rows, K, columns, { from: 0, N });
      withRowsOf(tensor, (reader) => {
        const codes = roundedCodes(reader, [N, K], { hasRows: true, hasColumns: true });
        assert.deepEqual(codes, { ...plain, columns });
      });
    });
  }
}
