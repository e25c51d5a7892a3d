// Receives a form with one file and short fields in any order. The file's bytes are written to disk as they arrive.
import type { Readable } from "node:stream";
import type { FastifyRequest } from "fastify";
import { quoted, ServiceError, type Fault } from "../../../base/domain/service-error.ts";
import { HttpRefusal } from "../errors.ts";
import { clientDisconnected } from "../request-lifecycle.ts";
import { askForBody } from "./body-reader.ts";

/** Stores the file of a form. */
export interface FileTaker<Received> {
  /** Stores the file's bytes as they arrive; resolves when the whole file is stored. */
  receive(content: Readable): Promise<Received>;
  /** Deletes a stored file because its form is refused. */
  discard(received: Received): Promise<void>;
}

export interface ReceivedForm<Received> {
  /** The stored file and its name; null if the form has no file. */
  readonly file: { readonly received: Received; readonly name: string } | null;
  readonly fields: ReadonlyMap<string, unknown>;
}

/**
 * Limits of the form parser. A valid form has one file, but the parser accepts two, so that the error message can name
 * the second.
 */
const formLimits = {
  files: 2,
  fields: 16,
  fieldSize: 4096,
  fieldNameSize: 100,
  headerPairs: 100,
  fileSize: Infinity,
};

/**
 * Reads a form with at most one file. Stores the file while it arrives, and deletes it again if the form is refused.
 *
 * @param fileField name of the part with the file
 * @param faultsIn returns the faults of the form's content
 * @throws ServiceError `invalid` with the form's faults, `too_large`, `unavailable`; 415 if the body is not a form
 */
export async function receiveForm<Received>(
  request: FastifyRequest,
  taker: FileTaker<Received>,
  {
    fileField,
    faultsIn,
  }: {
    readonly fileField: string;
    readonly faultsIn: (form: ReceivedForm<Received>) => readonly Fault[];
  },
): Promise<ReceivedForm<Received>> {
  if (!request.isMultipart()) throw notForm(request.headers["content-type"]);
  // The form parser would wait forever for a body whose connection is closed.
  if (request.raw.destroyed) throw clientDisconnected();
  askForBody(request);
  let file: ReceivedForm<Received>["file"] = null;
  const fields = new Map<string, unknown>();
  try {
    for await (const part of request.parts({ limits: formLimits })) {
      if (part.type === "field") fields.set(part.fieldname, part.value);
      else if (part.fieldname !== fileField || file !== null)
        throw refusal(unknownFile(part.fieldname, fileField));
      else file = { received: await taker.receive(part.file), name: part.filename };
    }
    const faults = faultsIn({ file, fields });
    if (faults.length > 0) throw refusal(...faults);
    return { file, fields };
  } catch (error) {
    if (file !== null) await taker.discard(file.received);
    throw error instanceof ServiceError ? error : unreadable(request, error);
  }
}

/** Returns the fault for a form without a file. */
export function missingFile(fileField: string): Fault {
  const message = `Field required: send the file in the part \`${fileField}\`, with its name.`;
  return { location: ["body", fileField], message, type: "missing" };
}

/**
 * @param field name of the part with the file. It is undefined for a part without a name, contrary to the form parser's
 * types
 */
function unknownFile(field: string | undefined, fileField: string): Fault {
  const message = `The form must have one file, in the part \`${fileField}\`.`;
  if (field !== undefined) return { location: ["body", field], message, type: "value_error" };
  return { location: ["body"], message: `A part has no name. ${message}`, type: "missing" };
}

function refusal(...faults: readonly Fault[]): ServiceError {
  return new ServiceError({ code: "invalid", faults });
}

/** Converts an error of the form parser to a ServiceError. The client disconnected, or the form is invalid. */
function unreadable(request: FastifyRequest, cause: unknown): ServiceError {
  if (request.raw.destroyed && !request.raw.complete) return clientDisconnected(cause);
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `The form cannot be read: ${reason}. Send it as multipart/form-data.`;
  return new ServiceError({
    code: "invalid",
    faults: [{ location: ["body"], message, type: "value_error" }],
    cause,
  });
}

function notForm(given: string | undefined): HttpRefusal {
  const what = given === undefined ? "There is no Content-Type" : `The Content-Type is ${quoted(given)}`;
  const message = `${what}; a file is uploaded as multipart/form-data.`;
  const location = ["header", "content-type"];
  const faults = [{ location, message, type: "unsupported_media_type" }];
  return new HttpRefusal({ status: 415, code: "invalid", faults });
}
