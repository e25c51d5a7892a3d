// Request by which a server fetches a prompt that another server holds.
import { Type } from "typebox";

export const transferRequestSchema = Type.Object(
  {
    handle: Type.String({
      minLength: 1,
      maxLength: 256,
      description: "Handle of the prompt: `remote_request_id`.",
    }),
    entity: Type.String({
      minLength: 1,
      maxLength: 256,
      description: "Entity that owns the prompt: that of the request which computed it.",
    }),
  },
  { title: "TransferRequest" },
);
