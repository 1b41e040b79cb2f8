"""Attacks by an adversary who sees or sends reports, each with the success that theory predicts. No defence is here.

- ``averaging``: many reports of one value, put together to find the value;
- ``linkage``: two series of uploads, matched to find that they are of one device;
- ``change``: two series of reports of one device, compared to find that its value changed;
- ``poisoning``: forged reports, sent to raise the estimates of chosen values.

The first three run the randomizers that are installed on devices, report by report.
"""
