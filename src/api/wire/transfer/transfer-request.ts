// What one server sends another to be given a prompt that it holds.
import { Type } from "typebox";

export const transferRequestSchema = Type.Object(
  {
    handle: Type.String({ minLength: 1, maxLength: 256, description: "Of the prompt: `remote_request_id`." }),
    entity: Type.String({
      minLength: 1,
      maxLength: 256,
      description: "Of the request that had it computed.",
    }),
  },
  { title: "TransferRequest" },
);
