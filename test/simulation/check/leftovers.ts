// Checks that each file that is on the disk at the end belongs to something that exists.
import { adapterFolderOf, adaptersOf } from "../../../src/base/domain/model.ts";
import type { Operation, Remains } from "../history.ts";
import { asked } from "./asked.ts";

export function leftoverFaults(history: readonly Operation[], remains: Remains): readonly string[] {
  const { versions, files, disk } = remains;
  const known = [
    // File that identifies the artifacts folder.
    "/artifacts-id",
    ...versions
      .filter(({ step, isDeleted }) => step > 0 && !isDeleted)
      .map(({ modelId, step }) => `/${adapterFolderOf(modelId, step)}/`),
    ...files.map((id) => `/files/${id}`),
  ];
  // A server that dies while it deletes a model on a full disk could not record the removal in the database. The log
  // names the remaining files to the operator.
  if (remains.wasFull)
    known.push(...asked(history, "delete model").map(({ modelId }) => `/${adaptersOf(modelId)}/`));
  // An import whose commit was lost leaves files until the next version replaces them.
  const imported = new Set(asked(history, "import").map(({ modelId }) => modelId));
  for (const modelId of imported) {
    const steps = versions.filter((version) => version.modelId === modelId).map(({ step }) => step);
    known.push(`/${adapterFolderOf(modelId, Math.max(...steps) + 1)}/`);
  }
  const unknown = [...disk].filter(
    ([path, content]) => content !== null && !known.some((start) => path.startsWith(start)),
  );
  return unknown.map(([path]) => `${path} is left on the disk, and belongs to nothing`);
}
