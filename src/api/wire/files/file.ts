// API format of uploaded files, as in OpenAI's API.
import { Type } from "typebox";
import { quoted, type Fault } from "../../../base/domain/service-error.ts";
import type { UploadedFile } from "../../../base/domain/uploads/uploaded-file.ts";
import { answerOf } from "../fields/resource.ts";
import { nullable } from "../nullable.ts";
import { pageQueryFields } from "../page.ts";

/** Minimum and maximum number of seconds after which a file may expire, as in OpenAI's API. */
export const lifeSeconds = { min: 3600, max: 2_592_000 };

/** The only supported purpose of an upload. */
export const filePurpose = "fine-tune";

export const fileQuerySchema = Type.Object({
  ...pageQueryFields,
  purpose: Type.Optional(Type.String({ description: "Only files with this purpose." })),
});

/** Used only for the documentation: the upload is parsed without it, while it arrives. */
export const uploadSchema = Type.Object(
  {
    purpose: Type.Enum([filePurpose], {
      description: "Purpose of the file. Only this purpose is supported.",
    }),
    file: Type.String({
      format: "binary",
      description: "Content of the file, as a form part with a file name.",
    }),
    "expires_after[anchor]": nullable(Type.Enum(["created_at"]), {
      description: "Required with `expires_after[seconds]`.",
    }),
    "expires_after[seconds]": nullable(Type.Integer({ minimum: lifeSeconds.min, maximum: lifeSeconds.max }), {
      description: "Time after the upload at which the file expires. Hone deletes it within the next hour.",
    }),
  },
  { title: "FileUpload" },
);

export const fileAnswer = answerOf<UploadedFile>()("File", {
  id: Type.String(),
  object: [Type.Enum(["file"]), () => "file" as const],
  bytes: [
    Type.Integer({ minimum: 0, description: "Size of the file in bytes." }),
    ({ byteCount }) => byteCount,
  ],
  created_at: [Type.Integer({ description: "Unix time in seconds." }), unixSecondsOf],
  filename: [Type.String(), ({ name }) => name],
  purpose: Type.String(),
  expires_at: [
    nullable(Type.Integer(), {
      description: "Unix time in seconds at which the file expires; null if it does not.",
    }),
    ({ expiresAt }) => (expiresAt === null ? null : unixSecondsOf({ createdAt: expiresAt })),
  ],
  status: [
    Type.Enum(["processed"], {
      description: "Always `processed`: a file can be used as soon as its upload is answered.",
    }),
    () => "processed" as const,
  ],
});

export function unixSecondsOf({ createdAt }: { readonly createdAt: Date }): number {
  return Math.floor(createdAt.getTime() / 1000);
}

const nameLengthMax = 255;

/** Returns the fault of a file name; null if the name is valid. */
export function fileNameFault(name: string): Pick<Fault, "message" | "type"> | null {
  if (name.length > nameLengthMax) {
    const message = `The name of the file has ${name.length} characters; at most ${nameLengthMax} are kept.`;
    return { message, type: "string_too_long" };
  }
  // oxlint-disable-next-line no-control-regex -- control characters are what must not be in a name
  if (name !== "" && !/[\u0000-\u001f\u007f]/.test(name)) return null;
  const message = `The name of the file is ${quoted(name)}; it must not be empty, or hold control characters.`;
  return { message, type: "value_error" };
}

export const fileDeletionSchema = Type.Object({
  id: Type.String(),
  object: Type.Enum(["file"]),
  deleted: Type.Boolean(),
});
