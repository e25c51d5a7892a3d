// An upload: a form of one file and a purpose, in any order, whose bytes go to the disk as they come.
import type { FastifyRequest } from "fastify";
import type { FileService, ReceivedFile } from "../../files/file-service.ts";
import { quoted, ServiceError, type Fault } from "../../domain/service-error.ts";
import { filePurpose } from "../../wire/files/file.ts";
import { HttpRefusal } from "../errors.ts";
import { askForBody } from "./expected-bodies.ts";
import { wentAway } from "../request-end.ts";

/** What a form said. */
export interface Upload {
  readonly received: ReceivedFile;
  readonly name: string;
  readonly purpose: string;
}

const nameLengthMax = 255;

/** What a form may hold beside its file. */
const formLimits = {
  files: 2,
  fields: 16,
  fieldSize: 4096,
  fieldNameSize: 100,
  headerPairs: 100,
  fileSize: Infinity,
};

/**
 * Reads the form; a file of it that is not answered here is gone again.
 *
 * @throws ServiceError `invalid` with what is wrong with the form, `too_large`, `unavailable`; 415 for what is no form
 */
export async function readUpload(
  request: FastifyRequest,
  files: Pick<FileService, "receive" | "discard">,
): Promise<Upload> {
  if (!request.isMultipart()) throw notForm(request.headers["content-type"]);
  // The form's reader would wait for ever for the end of a body that is closed already.
  if (request.raw.destroyed) throw wentAway();
  askForBody(request);
  const received: (ReceivedFile & { readonly name: string })[] = [];
  const fields = new Map<string, unknown>();
  try {
    for await (const part of request.parts({ limits: formLimits })) {
      if (part.type === "field") fields.set(part.fieldname, part.value);
      else if (part.fieldname !== "file" || received.length > 0) throw refusal(unknownFile(part.fieldname));
      else received.push({ ...(await files.receive(part.file)), name: part.filename });
    }
    const [file] = received;
    const faults = [...purposeFaults(fields.get("purpose")), ...fileFaults(file)];
    if (faults.length > 0) throw refusal(...faults);
    return { received: file, name: file.name, purpose: filePurpose };
  } catch (error) {
    for (const file of received) await files.discard(file);
    throw error instanceof ServiceError ? error : unreadable(request, error);
  }
}

function purposeFaults(purpose: unknown): readonly Fault[] {
  if (purpose === filePurpose) return [];
  const location = ["body", "purpose"];
  if (purpose === undefined) return [{ location, message: "Field required", type: "missing" }];
  const message = `Input should be '${filePurpose}', got ${quoted(typeof purpose === "string" ? purpose : typeof purpose)}: files are kept for training alone.`;
  return [{ location, message, type: "literal_error" }];
}

function fileFaults(file: { readonly name: string } | undefined): readonly Fault[] {
  const location = ["body", "file"];
  if (file === undefined) {
    const message = "Field required: send the file in the part `file`, with its name.";
    return [{ location, message, type: "missing" }];
  }
  if (file.name.length > nameLengthMax) {
    const message = `The name of the file has ${file.name.length} characters; at most ${nameLengthMax} are kept.`;
    return [{ location, message, type: "string_too_long" }];
  }
  // oxlint-disable-next-line no-control-regex -- control characters are what must not be in a name
  if (file.name !== "" && !/[\u0000-\u001f\u007f]/.test(file.name)) return [];
  const message = `The name of the file is ${quoted(file.name)}; it must not be empty, or hold control characters.`;
  return [{ location, message, type: "value_error" }];
}

/** @param field undefined for a part without a name, whatever the form's reader says */
function unknownFile(field: string | undefined): Fault {
  const message = "The form takes one file, in the part `file`.";
  if (field !== undefined) return { location: ["body", field], message, type: "value_error" };
  return { location: ["body"], message: `A part has no name. ${message}`, type: "missing" };
}

function refusal(...faults: readonly Fault[]): ServiceError {
  return new ServiceError({ code: "invalid", faults });
}

/** What the form's reader throws is about the form, or about a client that went away. */
function unreadable(request: FastifyRequest, cause: unknown): ServiceError {
  if (request.raw.destroyed && !request.raw.complete) {
    return wentAway(cause);
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `The form cannot be read: ${reason}. Send multipart/form-data with the parts \`purpose\` and \`file\`.`;
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
