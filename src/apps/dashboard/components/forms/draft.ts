// Texts that a user has typed but not sent yet. The browser tab keeps them while other views are open and when the page
// loads again, until they are sent or the user signs out.
import { useState } from "preact/hooks";
import { ownName } from "../../session.ts";

/** Maximum length of a stored text in characters. The browser's storage has room for a few million. */
const storedMax = 500_000;

/**
 * Returns the text that the user has typed, and a function that replaces it.
 *
 * @param subject what the text is about, such as the reference of an answer
 */
export function useDraft(subject: string): readonly [string, (text: string) => void] {
  const name = ownName(`hone-draft ${subject}`);
  const [shown, setShown] = useState({ name, text: storedDraft(name) });
  const put = (text: string): void => {
    setShown({ name, text });
    if (text === "" || text.length > storedMax) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, text);
  };
  return [shown.name === name ? shown.text : storedDraft(name), put];
}

function storedDraft(name: string): string {
  return sessionStorage.getItem(name) ?? "";
}
