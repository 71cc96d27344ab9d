// The question of a lesson, made from the packed trace of its sentence and sent to the page, and its picture; or the
// picture of a question that Python has made. The answer is hidden in the picture until the page shows it.

import { el } from "../../common/base.js";
import { lessonPicture } from "./lesson-picture.js";
import { unpackCase } from "../../trace/questions/case.js";
import { questionOf } from "../../trace/questions/questions.js";

export function lessonView(root, report) {
  const node = el("div", { class: "hu hu-lesson" });
  root.append(node);
  let showCount = 0;

  async function show(data) {
    const number = ++showCount;
    const { header, makeCase } = unpackCase(data);
    if (header.picture) return node.replaceChildren(lessonPicture(header.picture, header.answered));
    const reply = await questionOf(header.lesson, makeCase);
    if (number !== showCount) return; // newer data
    node.replaceChildren();
    const { picture, ...question } = reply.question ?? { picture: null };
    if (picture) node.append(lessonPicture(picture, header.answered));
    if (!header.known) {
      report({ text: header.trace.source, model: header.model, ...reply, ...(reply.question ? { question } : {}) });
    }
  }

  return { show, close: () => {} };
}
