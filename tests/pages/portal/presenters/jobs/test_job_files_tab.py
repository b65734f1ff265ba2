"""The way through the folders of a job's files."""

from portal.presenters.jobs.job_files_tab import FilesTab


def test_each_folder_on_the_way_leads_to_itself() -> None:
    tab = FilesTab(("results", "fold-1", "a.csv"))
    assert tab.parents == [("results", "results"), ("fold-1", "results/fold-1")]
    assert FilesTab(("results",)).below("fold-1") == "results/fold-1"
    assert FilesTab(()).below("results") == "results" and FilesTab(()).parents == []
