// What is left on the disk when all is over: what belongs to something that there is, and nothing else.
import { adapterFolderOf } from "../../../src/domain/model.ts";
import type { Operation, Remains } from "../history.ts";

export function leftoverFaults(_history: readonly Operation[], remains: Remains): readonly string[] {
  const { versions, files, disk } = remains;
  const known = [
    // What tells this place from others.
    "/artifacts-id",
    ...versions
      .filter(({ step, isDeleted }) => step > 0 && !isDeleted)
      .map(({ modelId, step }) => `/${adapterFolderOf(modelId, step)}/`),
    ...files.map((id) => `/files/${id}`),
  ];
  const unknown = [...disk].filter(
    ([path, content]) => content !== null && !known.some((start) => path.startsWith(start)),
  );
  return unknown.map(([path]) => `${path} is left on the disk, and belongs to nothing`);
}
