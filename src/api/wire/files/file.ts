// API format of uploaded files, as in OpenAI's API.
import { Type } from "typebox";
import type { UploadedFile } from "../../../base/domain/uploads/uploaded-file.ts";
import { answerOf } from "../fields/resource.ts";
import { pageQueryFields } from "../page.ts";

/** The only supported purpose of an upload. */
export const filePurpose = "fine-tune";

export const fileQuerySchema = Type.Object({
  ...pageQueryFields,
  purpose: Type.Optional(Type.String({ description: "Only files with this purpose." })),
});

/** This schema is only documentation. The upload is parsed while it arrives, without a schema. */
export const uploadSchema = Type.Object(
  {
    purpose: Type.Enum([filePurpose], {
      description: "Purpose of the file. Only this purpose is supported.",
    }),
    file: Type.String({
      format: "binary",
      description: "Content of the file, as a form part with a file name.",
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
  created_at: [
    Type.Integer({ description: "Unix time in seconds." }),
    ({ createdAt }) => Math.floor(createdAt.getTime() / 1000),
  ],
  filename: [Type.String(), ({ name }) => name],
  purpose: Type.String(),
  status: [
    Type.Enum(["processed"], {
      description: "Always `processed`: a file can be used as soon as its upload is answered.",
    }),
    () => "processed" as const,
  ],
});

export const fileDeletionSchema = Type.Object({
  id: Type.String(),
  object: Type.Enum(["file"]),
  deleted: Type.Boolean(),
});
