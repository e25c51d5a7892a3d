// Compares the result of a replay with the version of the original job, file by file. If a file contains matrices,
// compares each matrix.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { ReplayComparison, ReplayDifference } from "../../../base/domain/job.ts";
import { readSafetensorsHeader } from "../../../lib/model-files/safetensors.ts";
import { readFloats, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";

/** Maximum number of differences that are listed; the comparison only counts further ones. */
const differencesNamed = 100;

/**
 * Reports which files of the version equal those of the replay, byte for byte. Ignores the replay's optimizer state if
 * the version no longer has one.
 *
 * @param version folder of the version
 * @param replayed folder of the replay's result
 */
export function compareVersions(version: string, replayed: string): ReplayComparison {
  const files = readdirSync(version).toSorted();
  let matrixCount = 0;
  const different: ReplayDifference[] = [];
  for (const file of files) {
    const [expected, actual] = [join(version, file), join(replayed, file)];
    if (existsSync(actual) && file.endsWith(".safetensors")) {
      const matrices = comparedMatrices(expected, actual);
      matrixCount += matrices.length;
      different.push(...matrices.flatMap((one) => (one === null ? [] : [{ file, ...one }])));
    } else if (!existsSync(actual) || !readFileSync(expected).equals(readFileSync(actual))) {
      different.push({ file, matrix: null, valueCount: null, greatest: null });
    }
  }
  const named = different.slice(0, differencesNamed);
  return { files, matrixCount, differentCount: different.length, different: named };
}

type MatrixDifference = Omit<ReplayDifference, "file">;

/** Returns the differences of all matrices in the two files; null for a matrix that is equal byte for byte. */
function comparedMatrices(expected: string, actual: string): readonly (MatrixDifference | null)[] {
  const [ours, theirs] = [expected, actual].map((file) => readSafetensorsHeader(file).tensors);
  return [...new Set([...ours.keys(), ...theirs.keys()])].map((matrix) => {
    const [one, other] = [ours.get(matrix), theirs.get(matrix)];
    if (one === undefined || other === undefined || !isAlike(one, other))
      return { matrix, valueCount: null, greatest: null };
    return differenceOf(matrix, readFloats(one), readFloats(other));
  });
}

function isAlike(one: StoredTensor, other: StoredTensor): boolean {
  return one.type === other.type && one.shape.join() === other.shape.join();
}

function differenceOf(matrix: string, one: Float32Array, other: Float32Array): MatrixDifference | null {
  const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Buffer =>
    Buffer.from(buffer, byteOffset, byteLength);
  if (bytesOf(one).equals(bytesOf(other))) return null;
  let valueCount = 0;
  let greatest = 0;
  one.forEach((value, index) => {
    if (Object.is(value, other[index])) return;
    valueCount += 1;
    greatest = Math.max(greatest, Math.abs(value - other[index]));
  });
  return { matrix, valueCount, greatest: Number.isFinite(greatest) ? greatest : null };
}
