// Reads an uploaded file for a training job whose request contains the file's id or URL instead of the data.
import type { FastifyRequest } from "fastify";
import { quoted, ServiceError } from "../../../../base/domain/service-error.ts";
import { summary } from "../../../../base/validation/findings.ts";
import type { UploadedFile } from "../../../../base/domain/uploads/uploaded-file.ts";
import type { BodyKind, BodyTasks } from "../../../wire/body-tasks.ts";
import { fileIdIn } from "../../../wire/files/file-url.ts";
import { locate } from "../../../wire/field-paths.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import type { FileReaders } from "./files.ts";

export interface NamedFile {
  readonly url: string;
  /** Name of the body's field that contains the file's id or URL. */
  readonly field: string;
  /** Name of the body's field that accepts the same data inline. */
  readonly inline: string;
}

/**
 * Reads an uploaded file with the reader for request bodies of this kind. Until reading ends, the file's bytes count
 * towards the memory that the entity's request bodies may take.
 */
export async function readNamedFile<Kind extends BodyKind>(
  kind: Kind,
  named: NamedFile,
  request: FastifyRequest,
  { files }: Pick<HttpDependencies, "files">,
  { bodies, budget }: FileReaders,
): Promise<BodyTasks[Kind]["result"]> {
  const file = await findFile(named, request, files);
  const held = budget.forBody(request.caller.entity);
  held.add(file.byteCount);
  try {
    const bytes = await files.use(file);
    const body = { pieces: [bytes], byteCount: bytes.length };
    const { caller, id, headers } = request;
    return await bodies.read(kind, { body, caller, id, headers });
  } catch (error) {
    throw atField(error, named.field);
  } finally {
    held.release();
  }
}

/**
 * Returns the error with a file's faults moved to the body's field that names the file. Returns other errors unchanged.
 */
export function atField(error: unknown, field: string): unknown {
  if (!(error instanceof ServiceError) || error.code !== "invalid" || error.faults.length === 0) return error;
  const faults = error.faults.map((fault) => {
    const [place = "body", , ...inner] = fault.location;
    return fault.location.length > 1 ? { ...fault, location: [place, field, ...inner] } : fault;
  });
  return new ServiceError({ code: "invalid", message: summary(faults), faults, cause: error });
}

async function findFile(
  { url, field, inline }: NamedFile,
  { caller, headers }: FastifyRequest,
  files: HttpDependencies["files"],
): Promise<UploadedFile> {
  const id = fileIdIn(url, headers.host ?? null);
  if (id === null) throw noSuchFile({ url, field, inline });
  try {
    return await files.find(id, caller);
  } catch (error) {
    throw locate(error, { not_found: ["body", field] });
  }
}

/** Returns the refusal of a URL that is not a file on this server. Hone never fetches such URLs. */
function noSuchFile({ url, field, inline }: NamedFile): ServiceError {
  const message = `${quoted(url)} is not a file on this server, and files on other servers are not fetched. Upload the file here, or send its lines in ${inline}.`;
  const faults = [{ location: ["body", field], message, type: "value_error" }];
  return new ServiceError({ code: "invalid", faults });
}
