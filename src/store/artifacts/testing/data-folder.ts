// For tests: the folder of a single server, with the artifacts in the same folder.
import { FolderArtifacts } from "../folder-artifacts.ts";
import { ServerFolder } from "../server-folder.ts";

export interface DataFolder {
  readonly artifacts: FolderArtifacts;
  readonly folder: ServerFolder;
}

export function dataFolderAt(root: string, server = "server"): DataFolder {
  const options = { root, server: () => server };
  return { artifacts: new FolderArtifacts(options), folder: new ServerFolder(options) };
}
