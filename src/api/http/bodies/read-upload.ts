// Reads an upload: a form with one file and a purpose.
import type { FastifyRequest } from "fastify";
import type { FileService, ReceivedFile } from "../../../train/uploads/file-service.ts";
import { present } from "../../../base/domain/assert.ts";
import { quoted, type Fault } from "../../../base/domain/service-error.ts";
import { filePurpose } from "../../wire/files/file.ts";
import { missingFile, receiveForm, type ReceivedForm } from "./receive-form.ts";

export interface Upload {
  readonly received: ReceivedFile;
  readonly name: string;
  readonly purpose: string;
}

const nameLengthMax = 255;

/**
 * Reads an upload form. Stores the file while it arrives, and deletes it again if the form turns out to be invalid.
 *
 * @throws ServiceError `invalid` with the form's faults, `too_large`, `unavailable`; 415 if the body is not a form
 */
export async function readUpload(
  request: FastifyRequest,
  files: Pick<FileService, "receive" | "discard">,
): Promise<Upload> {
  const { file } = await receiveForm(request, files, uploadFaults);
  const { received, name } = present(file, "the file of a checked form");
  return { received, name, purpose: filePurpose };
}

function uploadFaults({ file, fields }: ReceivedForm<ReceivedFile>): readonly Fault[] {
  return [
    ...purposeFaults(fields.get("purpose")),
    ...(file === null ? [missingFile()] : nameFaults(file.name)),
  ];
}

function purposeFaults(purpose: unknown): readonly Fault[] {
  if (purpose === filePurpose) return [];
  const location = ["body", "purpose"];
  if (purpose === undefined) return [{ location, message: "Field required", type: "missing" }];
  const message = `Input should be '${filePurpose}', got ${quoted(typeof purpose === "string" ? purpose : typeof purpose)}: files are only for training.`;
  return [{ location, message, type: "literal_error" }];
}

function nameFaults(name: string): readonly Fault[] {
  const location = ["body", "file"];
  if (name.length > nameLengthMax) {
    const message = `The name of the file has ${name.length} characters; at most ${nameLengthMax} are kept.`;
    return [{ location, message, type: "string_too_long" }];
  }
  // oxlint-disable-next-line no-control-regex -- control characters are what must not be in a name
  if (name !== "" && !/[\u0000-\u001f\u007f]/.test(name)) return [];
  const message = `The name of the file is ${quoted(name)}; it must not be empty, or hold control characters.`;
  return [{ location, message, type: "value_error" }];
}
