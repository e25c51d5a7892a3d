// Links that use a model: chat with it, compare it, and train it.
import type { ModelObject } from "../../client/api.ts";
import { Menu } from "../components/menus/menu.tsx";
import { addressOf } from "../router.ts";
import { may } from "../session.ts";
import { chatAddress, nameOf } from "./model-path.ts";

export function ModelActions({ model }: { readonly model: ModelObject }) {
  const { id, base_model: base } = model;
  return (
    <>
      {may("chat") && (
        <a class="button" href={chatAddress(nameOf(model))}>
          Chat
        </a>
      )}
      <Menu label="Compare">
        {may("chat") && <a href={chatAddress(nameOf(model), base)}>Chat beside the base model</a>}
        <a href={addressOf("runs", [], { ids: id })}>Curves with other models</a>
      </Menu>
      {may("train") && (
        <Menu label="Train">
          <a href={addressOf("train", [], { model: id })}>Train on a file</a>
          <a href={addressOf("train", [], { feedback: id })}>Train on feedback</a>
        </Menu>
      )}
    </>
  );
}
