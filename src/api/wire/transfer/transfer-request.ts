// API format of the request with which a server fetches a prompt that another server holds.
import { Type } from "typebox";

export const transferRequestSchema = Type.Object(
  {
    handle: Type.String({
      minLength: 1,
      maxLength: 256,
      description:
        "Id of the KV cache that this server keeps: `remote_request_id` in the `kv_transfer_params` of its answer.",
    }),
    entity: Type.String({
      minLength: 1,
      maxLength: 256,
      description:
        "Entity that owns the prompt: the entity whose request made this server compute the prompt.",
    }),
  },
  { title: "TransferRequest" },
);
