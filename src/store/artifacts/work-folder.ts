// Where a server puts what is of no use without it: what it has not finished. It goes with the server's lease.
import { join } from "node:path";
import type { ArtifactWriter } from "./artifact-store.ts";

/** In a root, a folder for each server. */
export const workFolder = "work";

/** The folder of the server that writes. */
export function workOf({ root, server }: Pick<ArtifactWriter, "server"> & { readonly root: string }): string {
  return join(root, workFolder, server());
}
