"""A network in memory: read once, used by one thread at a time, and left as it was."""

import threading

import pytest
import torch
from torch import nn

from regard.engine.resident import Resident


def test_a_network_in_training_is_left_in_training() -> None:
    network = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)).train()
    resident = Resident(network)
    with resident.evaluating() as used:
        assert used is network
        assert not any(module.training for module in network.modules())
        assert not torch.is_grad_enabled()
        with resident.evaluating(gradients=True):  # again, by the same thread
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
        assert not network.training
    assert all(module.training for module in network.modules())
    with pytest.raises(KeyError), resident.evaluating():
        raise KeyError
    assert network.training
    network.eval()
    with resident.evaluating():
        pass
    assert not network.training
    assert torch.is_grad_enabled()


def test_it_is_read_when_it_is_first_needed_and_only_once() -> None:
    read: list[nn.Module] = []

    def reading() -> nn.Module:
        read.append(nn.Linear(2, 2))
        return read[-1]

    resident = Resident.deferred(reading)
    assert read == []
    threads = [threading.Thread(target=lambda: resident.network) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == [resident.network]
    assert resident.device == torch.device("cpu")


def test_tables_have_a_device_too() -> None:
    network = nn.Module()
    network.register_buffer("table", torch.zeros(2))
    assert Resident(network).device == torch.device("cpu")


def test_one_thread_at_a_time() -> None:
    resident, inside, order = Resident(nn.Linear(2, 2)), threading.Event(), []

    def other() -> None:
        inside.set()
        with resident.evaluating():
            order.append("other")

    thread = threading.Thread(target=other)
    with resident.evaluating():
        thread.start()
        assert inside.wait(5)
        thread.join(0.05)
        order.append("first")
    thread.join(5)
    assert order == ["first", "other"]
