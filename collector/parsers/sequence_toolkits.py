"""sequence_toolkits: progress lines of toolkits for speech and translation that say it in words of their own.

SOURCE    wenet/utils/executor.py; kaldi's steps/nnet3; marian-nmt's training/scheduler.h; NVIDIA's tacotron2/train.py;
          TensorFlow's nmt and the translation tutorial before it; RETURNN's torch/engine.py
ROWS      train_step (split train or eval)
CAVEAT    Kaldi counts jobs, whose objective stands in their own logs: its steps have no loss. WeNet says epoch/batch.
          TensorFlow's tell a perplexity, the exponential of the loss, and no loss: that is given as it.
EXAMPLES
    2023-05-11 10:00:26,102 DEBUG TRAIN Batch 0/100 loss 52.311270 loss_att 41.2 loss_ctc 61.3 lr 0.00100000 rank 0
    2023-05-11 10:00:26 [steps/nnet3/chain/train.py:529 - train - INFO ] Iter: 12/640   Jobs: 3   Epoch: 0.07/6.0 (1.1% complete)   lr: 0.001000
    [2023-05-11 10:00:26] Ep. 1 : Up. 1000 : Sen. 312,412 : Cost 5.31127000 * 3,121,412 @ 31,213 : Time 121.31s : 31213.41 words/s : gNorm 1.8153 : L.r. 6.2500e-06
    Train loss 250 0.411270 Grad Norm 1.815300 3.12s/it
      step 400 lr 1 step-time 0.41s wps 12.41K ppl 311.27 gN 6.25 bleu 0.00, Thu May 11 10:00:26 2023
    global step 400 learning rate 0.5000 step-time 0.94 perplexity 1625.06
    ep 3 train, step 41, ce 5.311, ctc_4 6.127, fer 0.871, num_seqs 12, mem_usage:cuda 6.2GB, 0.412 sec/step, elapsed 0:01:07, complete 20.41%
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.values import NUMBER, number
from store import lazy

_WENET = lazy.compile(
    rf"\b(?P<split>TRAIN|CV) (?:\| ?steps/sec {NUMBER} ?\| ?)?Batch (?P<epoch>\d{{1,9}})/(?P<n>\d{{1,12}}) (?:history )?loss (?P<loss>{NUMBER})"
    rf"(?=[\s,])(?:.{{0,300}}? lr (?P<lr>{NUMBER}))?(?:.{{0,40}}? grad_norm (?P<norm>{NUMBER}))?"
)
_KALDI = lazy.compile(
    rf"\bIter: (?P<n>\d{{1,9}})/(?P<total>\d{{1,9}})\s+Jobs: \d{{1,6}}\s+Epoch: (?P<epoch>{NUMBER})/(?P<epochs>{NUMBER}) \(.{{0,40}}?\blr: (?P<lr>{NUMBER})"
)
_MARIAN = lazy.compile(
    rf"\bEp\. (?P<epoch>\d{{1,9}})(?:\[[\d.]+\])? : Up\. (?P<n>\d{{1,12}}) : Sen\. [\d,.]+ : Cost (?P<loss>{NUMBER})"
    rf"(?:.{{0,200}}? gNorm (?P<norm>{NUMBER}))?(?:.{{0,40}}?L\.r\. (?P<lr>{NUMBER}))?"
)
_TACOTRON = lazy.compile(
    rf"^(?P<split>Train|Validation) loss (?P<n>\d{{1,12}}):? +(?P<loss>{NUMBER})(?: +Grad Norm (?P<norm>{NUMBER}))?(?=\s|$)"
)
_TF_NMT = lazy.compile(
    rf"\bstep (?P<n>\d{{1,12}}) (?:lr|learning rate) (?P<lr>{NUMBER}) step-time (?P<each>{NUMBER})s? (?:wps {NUMBER}K )?"
    rf"(?P<name>ppl|perplexity) (?P<loss>{NUMBER})(?: gN (?P<norm>{NUMBER}))?"
)
_RETURNN = lazy.compile(
    rf"^ep (?P<epoch>\d{{1,9}}) (?P<split>train|dev|devtrain|eval), step (?P<n>\d{{1,12}}), (?:[^,]{{1,60}}, ){{0,4}}?"
    rf"(?P<name>(?:cost|loss|ce|ctc|nll|mse|full_sum)(?:[_:.][\w:.-]{{1,40}})?) (?P<loss>{NUMBER})(?=,)(?:.{{0,400}}?, (?P<each>{NUMBER}) sec/step)?"
)


class SequenceToolkits(LineParser):
    """One line, one report."""

    name: ClassVar[str] = "sequence_toolkits"
    anchors: ClassVar[tuple[str, ...]] = (
        "TRAIN ",
        "CV Batch ",
        " Jobs: ",
        ": Cost ",
        "Train loss ",
        "Validation loss ",
        " step-time ",
        " sec/step",
    )

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text
        for framework, words, pattern in (
            ("wenet", "Batch ", _WENET),
            ("kaldi", "Jobs: ", _KALDI),
            ("marian", "Up. ", _MARIAN),
            ("tacotron2", " loss ", _TACOTRON),
            ("tensorflow-nmt", " step-time ", _TF_NMT),
            ("returnn", ", step ", _RETURNN),
        ):
            if words in text and (match := pattern.search(text)) is not None:
                found = match.groupdict()
                loss, epochs, total = found.get("loss"), found.get("epochs"), found.get("total")
                validating = found.get("split") in ("CV", "Validation", "dev", "devtrain", "eval")
                rate, norm, epoch = found.get("lr"), found.get("norm"), found.get("epoch")
                return [
                    line.step(
                        framework,
                        split="eval" if validating else "train",
                        step=int(match["n"]),
                        total_steps=int(total) if total else None,
                        epoch=number(epoch) if epoch else None,
                        total_epochs=number(epochs) if epochs else None,
                        loss=number(loss) if loss else None,
                        loss_name=found.get("name") or (("eval loss" if validating else "loss") if loss else None),
                        learning_rate=number(rate) if rate else None,
                        grad_norm=number(norm) if norm else None,
                        step_time_s=number(each) if (each := found.get("each")) else None,
                    )
                ]
        return ()
