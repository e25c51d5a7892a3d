// Tasks of the threads that arrange weights: the runtime saves the arranged weights of one operation to a file of its
// own, and they are copied from there to their place in the file of all arranged weights.
import { closeSync, mkdirSync, openSync, readFileSync, readSync, rmSync } from "node:fs";
import { setPriority } from "node:os";
import { join } from "node:path";
import { assert } from "../../base/domain/assert.ts";
import type { TaskHandlers } from "../../base/processes/tasks.ts";
import type { Graph } from "../../lib/graph/graph.ts";
import { readExternalParameters } from "../../lib/graph/onnx/external-data.ts";
import type { ArrangedWeight, FilePiece } from "../../lib/graph/weight-source.ts";
import { writeWhole } from "../../lib/model-files/write-safetensors.ts";
import { loadProgram, type SessionOptions } from "./session.ts";

export interface ArrangeTasks {
  readonly save: { readonly task: SaveTask; readonly result: SavedOperation };
  readonly copy: { readonly task: CopyTask; readonly result: null };
}

export interface SaveTask {
  readonly operation: Graph;
  /** Sources of the operation's parameters. */
  readonly weights: SessionOptions["weights"];
  /** Folder for the runtime's files; created if missing. */
  readonly folder: string;
}

export interface SavedOperation {
  /** Parameters that the runtime reads. It replaces others by values that it computes when it loads the program. */
  readonly names: readonly string[];
  /** Arranged weights, with their locations in the {@link savedFile} of the folder. */
  readonly arranged: readonly ArrangedWeight[];
}

export interface CopyTask {
  /** Folder of {@link SaveTask}, which is removed. */
  readonly folder: string;
  readonly to: string;
  readonly pieces: readonly CopiedPiece[];
}

/** A piece of a saved file, and its offset in the file of all arranged weights. */
export interface CopiedPiece extends FilePiece {
  readonly target: number;
}

/** Data of a thread that arranges weights. */
export interface ArrangeThread {
  /** Niceness of the thread (Linux): 0 is the usual priority, 19 the lowest. */
  readonly niceness: number;
}

export function openTasks({ niceness }: ArrangeThread): TaskHandlers<ArrangeTasks> {
  // Only Linux can set the priority of a single thread.
  if (niceness > 0 && process.platform === "linux") setPriority(niceness);
  return { save: saveOperation, copy: copyPieces };
}

const [modelName, dataName] = ["model.onnx", "weights.bin"];
const copiedBytesMax = 1024 * 1024;

/** @throws ServiceError `internal` if the runtime cannot load the operation */
async function saveOperation({ operation, weights, folder }: SaveTask): Promise<SavedOperation> {
  mkdirSync(folder, { recursive: true });
  const modelFile = join(folder, modelName);
  const program = await loadProgram(operation, { weights, threads: 1 }, { modelFile, dataName });
  await program.release();
  const saved = readExternalParameters(readFileSync(modelFile));
  return { names: saved.map(({ name }) => name), arranged: saved.flatMap(({ arranged }) => arranged) };
}

function copyPieces({ folder, to, pieces }: CopyTask): null {
  if (pieces.length > 0) {
    const [from, target] = [openSync(join(folder, dataName), "r"), openSync(to, "r+")];
    try {
      for (const piece of pieces) copyPiece(from, target, piece);
    } finally {
      closeSync(from);
      closeSync(target);
    }
  }
  rmSync(folder, { recursive: true });
  return null;
}

/** Copies a part of a file to a place in another file. */
export function copyPiece(from: number, to: number, { offset, byteLength, target }: CopiedPiece): void {
  const buffer = Buffer.alloc(Math.min(byteLength, copiedBytesMax));
  for (let done = 0; done < byteLength;) {
    const count = readSync(from, buffer, 0, Math.min(buffer.length, byteLength - done), offset + done);
    assert(count > 0, `the file has ${byteLength} bytes at ${offset}`);
    writeWhole(to, buffer.subarray(0, count), target + done);
    done += count;
  }
}
